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

// Elements that hold so much that no attribute of theirs names it.
var notNamed = []string{"form", "fieldset", "iframe", "map", "object", "html", "body"}

// elements replaces what elements of XML or HTML with the name of a secret hold,
// and those that are named by an attribute or by an element beside them.
func (s redactor) elements(text string) string {
	e := elementScan{text: text, unclosed: map[string]bool{}}
	for i := 0; ; {
		t, ok := nextTag(text, i)
		if !ok {
			break
		}
		i = t.end
		if t.start < e.done {
			continue
		}
		tagName, attributes := text[t.start+1:t.nameEnd], text[t.nameEnd:t.end-1]
		local := tagName[strings.LastIndexByte(tagName, ':')+1:]
		kind, byAttribute := s.secrecy(local), open
		if strings.Contains(attributes, "=") {
			if named := nameAttribute.FindStringSubmatch(attributes); named != nil {
				byAttribute = s.secrecy(named[2])
				if byAttribute != open {
					e.replace(t.nameEnd, t.end-1, valueAttribute.ReplaceAllString(attributes, `${1}"`+Redacted+`"`))
				}
				if strings.EqualFold(named[1], "id") && kind == open && byAttribute != open && e.holdsTags(t) {
					continue // a part of a page
				}
			}
		}
		if strings.HasSuffix(attributes, "/") {
			continue
		}
		inside := t.end + upTo(text[t.end:], "<")
		switch {
		case isMember(local, nameMembers):
			if from, to := e.beside.name(s.secrecy(strings.TrimSpace(text[t.end:inside])), text, t.start); from >= e.done && to > from {
				e.replace(from, to, Redacted)
			}
		case isMember(local, valueMembers) || strings.EqualFold(local, "string") && e.beside.kind != open:
			kind = max(kind, e.beside.value(t.end, inside))
		}
		if byAttribute != open && !isMember(local, notNamed) {
			if _, closed := e.content(tagName, t.end); closed { // else, as <input>, it holds nothing
				kind = max(kind, byAttribute)
			}
		}
		if kind == open {
			continue
		}
		if end, _ := e.content(tagName, t.end); kind.hides(strings.TrimSpace(text[t.end:end])) {
			e.replace(t.end, end, Redacted)
		}
	}
	if e.done == 0 {
		return text
	}
	return e.out.String() + text[e.done:]
}

// An elementScan is how far elements are replaced.
type elementScan struct {
	text     string
	out      strings.Builder
	done     int
	unclosed map[string]bool // not to be looked for again and again
	beside   beside
}

func (e *elementScan) replace(start, end int, by string) {
	e.out.WriteString(e.text[e.done:start])
	e.out.WriteString(by)
	e.done = end
}

// content gives the end of what an element holds, and whether it is closed.
func (e *elementScan) content(name string, start int) (end int, closed bool) {
	rest := e.text[start:]
	if n := strings.IndexByte(rest, '<'); n < 0 || strings.HasPrefix(rest[n+1:], "/"+name) {
		return start + upTo(rest, "<"), n >= 0
	}
	if !e.unclosed[name] && len(e.unclosed) < maxLost {
		if n := strings.Index(rest, "</"+name); n >= 0 {
			return start + n, true
		}
	}
	e.unclosed[name] = true
	return start + upTo(rest, "<"), false
}

func (e *elementScan) holdsTags(t tag) bool {
	return !strings.HasPrefix(e.text[t.end+upTo(e.text[t.end:], "<"):], "</")
}

// A beside tells what a value is in a text whose name stands beside it, before it
// or after it: <key>password</key><value>hunter2</value>.
type beside struct {
	kind     secrecy // by the last name, for the value to come
	named    bool    // there is one
	end      int     // and where
	from, to int     // the last value that no name came for
}

// maxApart is how far a name and its value are apart.
const maxApart = 500

// name gives the value before it that a name makes a secret.
func (b *beside) name(kind secrecy, text string, start int) (from, to int) {
	from, to = b.from, b.to
	*b = beside{kind: kind, named: true, end: start}
	if to == 0 || to > start || start-to > maxApart {
		return 0, 0
	}
	*b = beside{}
	if !kind.hides(text[from:to]) {
		return 0, 0
	}
	return from, to
}

// value tells what the value that stands there is.
func (b *beside) value(from, to int) secrecy {
	kind, named := b.kind, b.named && from-b.end <= maxApart
	*b = beside{}
	if named {
		return kind
	}
	b.from, b.to = from, to
	return open
}
