package target

import (
	"strconv"

	"example.com/touchstone/schemas"
)

// Environ gives the settings of a run as the environment of a launched target,
// in the form of [os.Environ]: TOUCHSTONE_BACKEND_URL, TOUCHSTONE_OPENAPI_URL,
// TOUCHSTONE_TIMEOUT_MS and TOUCHSTONE_MAX_RESPONSE_BYTES. A setting that is not
// given has no variable.
func Environ(settings schemas.ConfigureParams) []string {
	var env []string
	add := func(name, value string) {
		if value != "" && value != "0" {
			env = append(env, "TOUCHSTONE_"+name+"="+value)
		}
	}
	add("BACKEND_URL", settings.BackendURL)
	add("OPENAPI_URL", settings.OpenAPIURL)
	add("TIMEOUT_MS", strconv.FormatInt(settings.TimeoutMs, 10))
	add("MAX_RESPONSE_BYTES", strconv.FormatInt(settings.MaxResponseBytes, 10))
	return env
}
