package target

import (
	"strconv"

	"example.com/touchstone/schemas"
)

// Environ gives the settings of a run as the environment of a launched target,
// in the form of [os.Environ]: TOUCHSTONE_BACKEND_URL, TOUCHSTONE_OPENAPI_URL,
// TOUCHSTONE_TIMEOUT_MS, and the limits TOUCHSTONE_MAX_RESPONSE_BYTES,
// TOUCHSTONE_MAX_INLINE_FILE_BYTES and TOUCHSTONE_MAX_FILE_BYTES. A setting that
// is not given has no variable.
func Environ(settings schemas.ConfigureParams) []string {
	var env []string
	text := func(name, value string) {
		if value != "" {
			env = append(env, "TOUCHSTONE_"+name+"="+value)
		}
	}
	number := func(name string, value *int64) {
		if value != nil {
			text(name, strconv.FormatInt(*value, 10))
		}
	}
	positive := func(name string, value int64) {
		if value > 0 {
			number(name, &value)
		}
	}
	text("BACKEND_URL", settings.BackendURL)
	text("OPENAPI_URL", settings.OpenAPIURL)
	positive("TIMEOUT_MS", settings.TimeoutMs)
	positive("MAX_RESPONSE_BYTES", settings.MaxResponseBytes)
	number("MAX_INLINE_FILE_BYTES", settings.MaxInlineFileBytes)
	number("MAX_FILE_BYTES", settings.MaxFileBytes)
	return env
}
