package mockbackend

import "strings"

var (
	tagStarts = newCharSet([]string{"a-z", "A-Z"}, "_")
	tagChars  = newCharSet([]string{"a-z", "A-Z", "0-9"}, "_.:-")
)

// A tag is where an opening one stands in a text.
type tag struct{ start, nameEnd, end int }

// nextTag finds the next opening tag at or after i. Nothing is looked at twice, so
// that a text of angle brackets takes no longer than another one.
func nextTag(text string, i int) (tag, bool) {
	for i < len(text) {
		n := strings.IndexByte(text[i:], '<')
		if n < 0 {
			break
		}
		i += n
		if i+1 == len(text) || !tagStarts[text[i+1]] {
			i++
			continue
		}
		name := i + 1 + tagChars.span(text[i+1:])
		n = strings.IndexAny(text[name:], "<>")
		if n < 0 {
			break
		}
		if text[name+n] == '>' {
			return tag{i, name, name + n + 1}, true
		}
		i = name + n
	}
	return tag{}, false
}

// elements replaces what elements of XML or HTML with the name of a secret hold.
func (s redactor) elements(text string) string {
	var out strings.Builder
	done := 0
	unclosed := map[string]bool{} // not to be looked for again and again
	for i := 0; ; {
		t, ok := nextTag(text, i)
		if !ok {
			break
		}
		i = t.end
		if t.start < done {
			continue
		}
		name, attributes := text[t.start+1:t.nameEnd], text[t.nameEnd:t.end-1]
		if strings.Contains(attributes, "=") {
			if named := nameAttribute.FindStringSubmatch(attributes); named != nil && s.isName(named[1]) {
				out.WriteString(text[done:t.nameEnd])
				out.WriteString(valueAttribute.ReplaceAllString(attributes, `${1}"`+Redacted+`"`))
				done = t.end - 1
			}
		}
		kind := s.secrecy(name[strings.LastIndexByte(name, ':')+1:])
		if kind == open || strings.HasSuffix(attributes, "/") {
			continue
		}
		rest, end := text[t.end:], -1
		if !unclosed[name] && len(unclosed) < maxLost {
			end = strings.Index(rest, "</"+name)
		}
		if end < 0 {
			unclosed[name] = true
			if end = strings.IndexByte(rest, '<'); end < 0 {
				end = len(rest)
			}
		}
		if !kind.hides(strings.TrimSpace(rest[:end])) {
			continue
		}
		out.WriteString(text[done:t.end])
		out.WriteString(Redacted)
		done = t.end + end
	}
	if done == 0 {
		return text
	}
	return out.String() + text[done:]
}
