package mockbackend

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// A value that goes over several lines is replaced as a whole, and what is around
// it stays.
func TestRecordingOfBlocks(t *testing.T) {
	s := newRedactor(nil)
	for _, tt := range []struct{ in, want string }{
		{"a: b\npassword: |\n  LEAK\n\n  LEAK: LEAK\nc: d\n", "a: b\npassword: REDACTED\nc: d\n"},
		{"- a: b\n  password: >-\n    LEAK\n    - LEAK\n  c: |\n    text\n", "- a: b\n  password: REDACTED\n  c: |\n    text\n"},
		{"- password: |2+ # two\n    LEAK\n\n  c: d\n", "- password: REDACTED\n\n  c: d\n"},
		{"\"password\": !!str |\r\n  LEAK\r\nc: d\r\n", "\"password\": !!str REDACTED\r\nc: d\r\n"},
		{"private_key: |\n  {\"a\": \"LEAK\"}\nc: d\n", "private_key: REDACTED\nc: d\n"},
		{"passwords:\n- LEAK\n- \"LEAK: LEAK\"\n- true\nc: d\n", "passwords:\n- REDACTED\n- REDACTED\n- true\nc: d\n"},
		{"a:\n  passwords: # two\n    - LEAK\n      LEAK\n    - |\n      LEAK\n      LEAK: LEAK\n\n    - - LEAK\n  c:\n    - d\n", "a:\n  passwords: # two\n    - REDACTED\n    - REDACTED\n    - - REDACTED\n  c:\n    - d\n"},
		{"tokens:\n  - user: LEAK\n    value: |\n      LEAK\n    more:\n      - LEAK\n  -\n    x: LEAK\nc: d\n", "tokens:\n  - user: REDACTED\n    value: REDACTED\n    more:\n      - REDACTED\n  -\n    x: REDACTED\nc: d\n"},
		{"password: &LEAK LEAK\n  LEAK\nc: d\n", "password: REDACTED\nc: d\n"},
		{"password: !LEAK\nc: &a\n  token: b\n", "password: REDACTED\nc: &a\n  token: REDACTED\n"},
		{"password: LEAK\n  LEAK LEAK\nc: d\n", "password: REDACTED\nc: d\n"},
		{"password:\n  LEAK\n  LEAK\nc: d\n", "password:\n  REDACTED\nc: d\n"},
		{"password: \"LEAK\n  LEAK\"\nc: d\n", "password: \"REDACTED\"\nc: d\n"},
		{"- name: DB_PASSWORD\n  value: |\n    LEAK\n    LEAK\n- name: a\n  value: |\n    b\n", "- name: DB_PASSWORD\n  value: REDACTED\n- name: a\n  value: |\n    b\n"},
		{"- value: >\n    LEAK\n    LEAK\n  name: DB_PASSWORD\n", "- value: REDACTED\n  name: DB_PASSWORD\n"},
		{"\"password\": LEAK LEAK\n'token': !!str LEAK\n\"pwd\": null\n", "\"password\": REDACTED\n'token': REDACTED\n\"pwd\": null\n"},
		{"{\n  \"password\": 12,\n  \"token\": null,\n  \"b\": ", "{\n  \"password\": REDACTED,\n  \"token\": null,\n  \"b\": "},
		{"value: {[ name=\"pwd\">:a&a: b ", "value: {[ name=\"pwd\">:a&a: b "},
		{"items:\n- a\nauth:\n  kind: x\nsessions:\n  - b\n", "items:\n- a\nauth:\n  kind: x\nsessions:\n  - b\n"},
		{"a = 1\npassword = \"\"\"\nLEAK \"LEAK\"\n\nLEAK = LEAK\"\"\"\nb = 2\n", "a = 1\npassword = \"\"\"REDACTED\"\"\"\nb = 2\n"},
		{"password = '''LEAK\nLEAK'''\nb = 2\n", "password = '''REDACTED'''\nb = 2\n"},
		{
			"--xyz\r\nContent-Disposition: form-data; name=\"password\"\r\n\r\nLEAK\r\nLEAK\r\n--xyz\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\nb\r\n--xyz--\r\n",
			"--xyz\r\nContent-Disposition: form-data; name=\"password\"\r\n\r\nREDACTED\r\n--xyz\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\nb\r\n--xyz--\r\n",
		},
		{
			"--xyz\nContent-Type: text/plain\nContent-Disposition: form-data; filename=a; name=api_key\nX: y\n\n{\"a\": \"LEAK\"}\n--LEAK\n--xyz\nContent-Disposition: form-data; name=token\n\n\n--xyz\nContent-Disposition: form-data; name=sid\n\nLEAK",
			"--xyz\nContent-Type: text/plain\nContent-Disposition: form-data; filename=a; name=api_key\nX: y\n\nREDACTED\n--xyz\nContent-Disposition: form-data; name=token\n\n\n--xyz\nContent-Disposition: form-data; name=sid\n\nREDACTED",
		},
	} {
		got := s.document(tt.in)
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s\n(-want +got):\n%s", tt.in, diff)
		}
		if strings.Contains(tt.in, ": ") && !strings.Contains(tt.in, "--xyz") && breaksYAML([]byte(tt.in), []byte(got)) {
			t.Errorf("%s\nis no YAML any more:\n%s", tt.in, got)
		}
		if again := s.document(got); again != got && !strings.Contains(got, "!!") {
			t.Errorf("%s\nbecomes, once more, %s", got, again)
		}
	}
}

// YAML that would be none is left out with the reason.
func TestRecordingKeepsYAML(t *testing.T) {
	s := newRedactor(nil)
	for body, skipped := range map[string]bool{
		"password: &p LEAK\nagain: *p\n": true,
		"password: LEAK\nagain: a\n":     false,
		"password: LEAK\nbroken: *p\n":   false, // it was none before
	} {
		got, err := s.body("application/yaml; charset=utf-8", []byte(body))
		if skipped != (err != nil) || strings.Contains(string(got), "LEAK") {
			t.Errorf("%s becomes %s, %v", body, got, err)
		}
	}
}
