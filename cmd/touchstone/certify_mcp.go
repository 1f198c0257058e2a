package main

import (
	"fmt"
	"net"
	"net/http"
	"net/textproto"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/pflag"
	"golang.org/x/net/http/httpguts"

	"example.com/touchstone/schemas"
	"example.com/touchstone/suite"
)

// serverFlags are the flags of certify for a server that is certified as it is.
type serverFlags struct {
	headers, limits, operations []string
	mockAddr                    string
}

func (f *serverFlags) register(flags *pflag.FlagSet) {
	flags.StringArrayVar(&f.headers, "header", nil, "header to send to an mcp+http server, as in 'Authorization: Bearer …'; reports do not show its value")
	flags.StringArrayVar(&f.operations, "operation", nil, "the server's name of an operation, as in get_order=orders_getOrder")
	flags.StringArrayVar(&f.limits, "limit", nil, "a limit of the server, as in maxResponseBytes=2000; others: timeoutMs, maxInlineFileBytes, maxFileBytes")
	flags.StringVar(&f.mockAddr, "mock-addr", "", "loopback address of the mock backend, for a server that was started with it (default: a free port)")
}

// words are the flags as they were given, for the command that repeats a run.
// That goes into reports, and a header is mostly a token: it is left to the
// environment.
func (f serverFlags) words() []string {
	var words []string
	for _, header := range f.headers {
		name, _, _ := strings.Cut(header, ":")
		variable := strings.ToUpper(strings.ReplaceAll(name, "-", "_"))
		words = append(words, "--header", fmt.Sprintf(`"%s: $%s"`, name, variable))
	}
	for _, list := range []struct {
		flag   string
		values []string
	}{{"--operation", f.operations}, {"--limit", f.limits}} {
		for _, value := range list.values {
			words = append(words, list.flag, quoteArg(value))
		}
	}
	if f.mockAddr != "" {
		words = append(words, "--mock-addr", quoteArg(f.mockAddr))
	}
	return words
}

// checkTarget refuses what the target would not hear of.
func (f serverFlags) checkTarget(target string) error {
	if len(f.headers) > 0 && !strings.HasPrefix(target, "mcp+http") {
		return fmt.Errorf("--header is for a target mcp+http://… or mcp+https://…, and the target is %s", target)
	}
	if len(f.operations) > 0 && !strings.HasPrefix(target, "mcp+") {
		return fmt.Errorf("--operation is for an MCP server, as in mcp+exec:COMMAND, and the target is %s: it knows the operations by our names", target)
	}
	return nil
}

// header reads the headers.
func (f serverFlags) header() (http.Header, error) {
	header := http.Header{}
	for _, text := range f.headers {
		name, value, ok := strings.Cut(text, ":")
		value = textproto.TrimString(value)
		if !ok || !httpguts.ValidHeaderFieldName(name) || !httpguts.ValidHeaderFieldValue(value) {
			return nil, fmt.Errorf("--header %q: give a name, a colon and a value, as in 'Authorization: Bearer abc'", name)
		}
		header.Add(name, value)
	}
	return header, nil
}

// names reads the names of operations.
func (f serverFlags) names() (map[string]string, error) {
	names, known := map[string]string{}, schemas.SampleOperations()
	for _, text := range f.operations {
		ours, theirs, ok := strings.Cut(text, "=")
		if !ok || theirs == "" {
			return nil, fmt.Errorf("--operation %q: give an operation and the server's name of it, as in get_order=orders_getOrder", text)
		}
		if !slices.Contains(known, ours) {
			return nil, fmt.Errorf("--operation %q: there is no operation %s; there are %s", text, ours, strings.Join(known, ", "))
		}
		names[ours] = theirs
	}
	return names, nil
}

// apply writes the limits and the address of the mock backend into a configuration.
func (f serverFlags) apply(config *suite.Config) error {
	for _, text := range f.limits {
		name, number, _ := strings.Cut(text, "=")
		value, err := strconv.ParseInt(number, 10, 64)
		if err != nil || value <= 0 {
			return fmt.Errorf("--limit %q: give a name and a whole number above zero, as in maxResponseBytes=2000", text)
		}
		switch name {
		case "timeoutMs":
			config.Limits.TimeoutMs = value
		case "maxResponseBytes":
			config.Limits.MaxResponseBytes = value
		case "maxInlineFileBytes":
			config.Limits.MaxInlineFileBytes = &value
		case "maxFileBytes":
			config.Limits.MaxFileBytes = &value
		default:
			return fmt.Errorf("--limit %q: there is no such limit; there are timeoutMs, maxResponseBytes, maxInlineFileBytes and maxFileBytes", text)
		}
	}
	if f.mockAddr == "" {
		return nil
	}
	host, port, err := net.SplitHostPort(f.mockAddr)
	if err == nil {
		_, err = strconv.ParseUint(port, 10, 16)
	}
	if ip := net.ParseIP(host); err != nil || host != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return fmt.Errorf("--mock-addr %q: give a loopback address and a port, as in 127.0.0.1:8089", f.mockAddr)
	}
	config.BackendAddr = f.mockAddr
	return nil
}
