package main

import (
	"os/exec"
	"strings"
	"testing"
)

// TestImportDirection: imports of the project point one way. An oracle that
// shares code with what it judges proves nothing.
func TestImportDirection(t *testing.T) {
	const module = "example.com/touchstone/"
	allowed := map[string][]string{
		"schemas":     {},
		"fixtures":    {"schemas"},
		"mockbackend": {"schemas"},
		"reference":   {"schemas"},
		"suite":       {"mockbackend", "fixtures", "schemas"},
		"cmd":         {"suite", "reference", "mockbackend", "fixtures", "schemas"},
	}
	out, err := exec.Command("go", "list", "-f", `{{.ImportPath}} {{join .Imports " "}}`, module+"...").Output()
	if err != nil {
		t.Fatal(err)
	}
	packages := 0
	for line := range strings.Lines(string(out)) {
		words := strings.Fields(line)
		from := top(words[0], module)
		packages++
		if _, ok := allowed[from]; !ok {
			t.Errorf("%s is outside the layout", words[0])
			continue
		}
		for _, imported := range words[1:] {
			to := top(imported, module)
			if to == "" || to == from {
				continue
			}
			ok := false
			for _, a := range allowed[from] {
				ok = ok || a == to
			}
			if !ok {
				t.Errorf("%s imports %s: %s may import %v", words[0], imported, from, allowed[from])
			}
		}
	}
	if packages < 10 {
		t.Errorf("only %d packages were checked", packages)
	}
}

func top(path, module string) string {
	rest, ok := strings.CutPrefix(path, module)
	if !ok {
		return ""
	}
	first, _, _ := strings.Cut(rest, "/")
	return first
}
