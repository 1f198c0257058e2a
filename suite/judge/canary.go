package judge

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"example.com/touchstone/schemas"
)

// judgeCanary looks for the token of this run anywhere in what the target
// returned: in the raw bytes, in decoded strings at any depth, and there also
// percent-decoded and base64-decoded.
func judgeCanary(s *subject) (int, []schemas.Finding) {
	needles := needlesOf(s.Canary)
	if found := search(needles, "the raw answer", s.Answer.Raw); found != "" {
		// Name the member, if there is one, rather than the whole message.
		for _, m := range s.members {
			if inner := search(needles, m.name, decodedText(m.value)); inner != "" {
				found = inner
				break
			}
		}
		return 1, []schemas.Finding{s.leaked(found)}
	}
	for _, m := range s.members {
		if found := search(needles, m.name, decodedText(m.value)); found != "" {
			return 1, []schemas.Finding{s.leaked(found)}
		}
	}
	return 1, nil
}

// followCanary places every mismatch of a member that holds the canary under
// the canary's requirement: the member is only where the leak shows.
func (s *subject) followCanary(findings []schemas.Finding) {
	if s.wrongBranch() || !slices.ContainsFunc(findings, func(f schemas.Finding) bool { return f.Member == "canary" }) {
		return
	}
	needles := needlesOf(s.Canary)
	for i, f := range findings {
		if f.Member != "canary" && f.Member != "status" && search(needles, f.Member, decodedText(f.Actual)) != "" {
			findings[i].Requirement, findings[i].Follows = s.under("canary"), "canary"
		}
	}
}

func (s *subject) leaked(where string) schemas.Finding {
	return finding(s.under("canary"), "canary", fmt.Sprintf("the canary %s of the input came through in %s", s.Canary, where), nil, quoted(s.Answer.Envelope))
}

// needle is a spelling of the canary to look for.
type needle struct {
	spelling string
	text     []byte
}

// needlesOf gives the canary and the part of its base64 that does not depend
// on what stands around it, for each of the three ways it can be aligned. A
// token of ASCII letters and digits is the same in both alphabets of RFC 4648.
func needlesOf(canary string) []needle {
	needles := []needle{{"", []byte(strings.ToLower(canary))}}
	for shift := range 3 {
		padded := strings.Repeat("\x00", shift) + canary
		encoded := base64.RawStdEncoding.EncodeToString([]byte(padded))
		// The first characters mix with what precedes, the last with what follows.
		from := (shift*8 + 5) / 6
		to := len(padded) * 8 / 6
		needles = append(needles, needle{" (in base64)", []byte(strings.ToLower(encoded[from:to]))})
	}
	return needles
}

// search gives the place and spelling of the first needle found in text, with
// percent-encodings as they are and decoded up to twice.
func search(needles []needle, place string, text []byte) string {
	for depth := range 3 {
		lower := bytes.ToLower(text)
		for _, n := range needles {
			if bytes.Contains(lower, n.text) {
				spelling := n.spelling
				if depth > 0 {
					spelling += " (percent-encoded)"
				}
				return place + spelling
			}
		}
		if bytes.IndexByte(text, '%') < 0 {
			return ""
		}
		text = percentDecoded(text)
	}
	return ""
}

// percentDecoded decodes what is a percent-encoding and keeps the rest.
func percentDecoded(text []byte) []byte {
	out := make([]byte, 0, len(text))
	for i := 0; i < len(text); i++ {
		if text[i] == '%' && i+2 < len(text) {
			if b, err := url.PathUnescape(string(text[i : i+3])); err == nil {
				out = append(out, b...)
				i += 2
				continue
			}
		}
		out = append(out, text[i])
	}
	return out
}

// decodedText gives every string in a JSON value, names too, one a line.
func decodedText(raw json.RawMessage) []byte {
	var out bytes.Buffer
	dec := json.NewDecoder(bytes.NewReader(raw))
	for {
		tok, err := dec.Token()
		if err != nil {
			return out.Bytes()
		}
		if text, ok := tok.(string); ok {
			out.WriteString(text)
			out.WriteByte('\n')
			// A string may hold JSON of its own, with escapes of its own.
			if inner := strings.TrimSpace(text); len(inner) < len(raw) && (strings.HasPrefix(inner, "{") || strings.HasPrefix(inner, "[") || strings.HasPrefix(inner, `"`)) {
				out.Write(decodedText(json.RawMessage(inner)))
			}
		}
	}
}
