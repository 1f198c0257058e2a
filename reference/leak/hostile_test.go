package leak_test

import (
	"strings"
	"testing"

	"example.com/touchstone/reference/leak"
)

// hostile are units that, repeated, make a careless scanner read its input
// again and again.
var hostile = []struct{ name, unit string }{
	{"at-dots", "at . . . . "},
	{"at-only", "at "},
	{"at-name", "at a.b "},
	{"at-dotted", "at ....."},
	{"positions", "at x:1: "},
	{"colons", ":1"},
	{"server", "Server="},
	{"equals", "="},
	{"equals-r", "r="},
	{"server-blank", "Server= ;"},
	{"jwt-heads", "-eyJa"},
	{"jwt-parts", "eyJa..eyJa "},
	{"jwt-inner", "eyJ"},
	{"word", "a"},
	{"blanks", " "},
	{"slashes", "/"},
	{"paths", "/a"},
	{"roots", "/app "},
	{"roots-inside", "/.app"},
	{"backslashes", `\`},
	{"shares", `\\a`},
	{"urls", "a://b:"},
	{"schemes", "mysql:// "},
	{"slash-slash", "://"},
	{"user-info", "a://bb:cc"},
	{"extensions", ".js: "},
	{"lines", "a.c:line "},
	{"drives", `c:\ `},
	{"exceptions", "Exceptions"},
	{"exceptions-bare", "Exception "},
	{"errors", "TypeErrors"},
	{"bearer", "bearer "},
	{"bearer-short", "bearer seven77 "},
	{"non-ascii", "é"},
	{"astral", "\U0001F600"},
}

func TestHostileText(t *testing.T) {
	f := leak.Default()
	f.MaxUnits = 0
	limited := leak.Default()
	for _, h := range hostile {
		text := strings.Repeat(h.unit, 256<<10/len(h.unit))
		if ids := f.Classes(text); ids != nil {
			t.Errorf("%s: withheld: %v", h.name, ids)
		}
		if id, _ := limited.Class(text); id != "LEAK-06" {
			t.Errorf("%s: withheld by %q", h.name, id)
		}
		if words := strings.Fields(text); leak.Normalize(text) != strings.Join(words, " ") {
			t.Errorf("%s: normalised into something else", h.name)
		}
	}
}
