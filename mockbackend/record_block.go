package mockbackend

import (
	"regexp"
	"strings"
)

// A block is a value of YAML that goes over several lines, and what stands in its
// place.
type block struct {
	start, end int
	by         string
}

var (
	blockHead = regexp.MustCompile(`^[|>][-+0-9]*(?:[ \t]+#.*)?$`)
	tagOrMark = regexp.MustCompile(`^(?:(?:!!?[a-z]+|&\w+)(?:[ \t]+|$))+`)
	// listItem and member are what a line of a list or of a mapping begins with.
	listItem = regexp.MustCompile(`^(?:-(?:[ \t]+|$))+`)
	member   = regexp.MustCompile(`^(?:"[^"]*"|'[^']*'|[^\s"'#:][^\s:]*):(?:[ \t]+|$)`)
)

// valueBlock finds the value of several lines that the name before the colon at
// has, when the name begins a line.
func (kind secrecy) valueBlock(text string, name string, at int) (block, bool) {
	if text[at] != ':' {
		return block{}, false
	}
	before := text[max(0, at-2*maxName):at]
	line := before[strings.LastIndexByte(before, '\n')+1:]
	if len(line) == len(before) && len(before) < at {
		return block{}, false // so far away that it is none
	}
	column := len(line) - len(strings.TrimLeft(line, " -\"'"))
	if column < len(line) && strings.IndexByte(`"'`, line[max(0, column-1)]) >= 0 {
		column--
	}
	if bare := strings.TrimRight(line, " \t\"'"); len(strings.Trim(bare[:max(0, len(bare)-len(name))], " -\"'")) > 0 {
		return block{}, false
	}
	i := at + 1
	n := upTo(text[i:], "\n")
	next := min(len(text), i+n+1)
	head := text[i : i+n]
	i += len(head) - len(strings.TrimLeft(head, " \t"))
	head = strings.TrimSpace(head)
	// Before words, it can be a part of them.
	if mark := tagOrMark.FindString(head); mark != "" && (len(mark) == len(head) || strings.IndexByte("|>#", head[len(mark)]) >= 0) {
		head, i = head[len(mark):], i+len(mark)
	}
	switch {
	case blockHead.MatchString(head):
		end, _ := deeper(text, next, column, false)
		return block{i, end, Redacted}, end > next
	case head == "" || head[0] == '#':
		return kind.below(text, next, column)
	case strings.IndexByte("\"'[{|>*", head[0]) >= 0:
		return block{}, false
	}
	end, lines := deeper(text, next, column, true)
	return block{i, end, Redacted}, lines > 0
}

// below finds a list or words on the lines after that of a name.
func (kind secrecy) below(text string, next, column int) (block, bool) {
	first := next + len(text[next:]) - len(strings.TrimLeft(text[next:], "\r\n"))
	line := text[first : first+upTo(text[first:], "\r\n")]
	start := strings.TrimLeft(line, " ")
	indent := len(line) - len(start)
	switch {
	case start == "":
	case listItem.MatchString(start) && indent >= column:
		return kind.list(text, first, indent), true
	case indent > column && strings.IndexByte("\"'[{|>*", start[0]) < 0 && !strings.ContainsAny(start, ":="):
		end, _ := deeper(text, first, column, false)
		return block{first + indent, end, Redacted}, true
	}
	return block{}, false
}

// deeper gives the end of the lines that are indented by more than a column, and
// how many there are. Of plain ones, those end it that are a name or an element.
func deeper(text string, i, column int, plain bool) (end, lines int) {
	end = i
	if plain || end == len(text) {
		end = len(strings.TrimRight(text[:i], "\r\n")) // where the line before ends
	}
	for line := range strings.Lines(text[i:]) {
		content := strings.TrimRight(line, "\r\n")
		start := strings.TrimLeft(content, " ")
		if strings.TrimSpace(start) != "" {
			if len(content)-len(start) <= column || plain && (strings.ContainsAny(start, ":=") || strings.IndexByte("-#<{[", start[0]) >= 0) {
				break
			}
			end = i + len(content)
			lines++
		}
		i += len(line)
	}
	return end, lines
}

// list replaces the elements of a list, and what their members have.
func (kind secrecy) list(text string, first, indent int) block {
	var out strings.Builder
	end, i, hidden := first, first, -1 // what is deeper than hidden has been replaced
	for line := range strings.Lines(text[first:]) {
		content := strings.TrimRight(line, "\r\n")
		start := strings.TrimLeft(content, " ")
		column := len(content) - len(start)
		dashes := listItem.FindString(start)
		if start != "" && (column < indent || column == indent && dashes == "") {
			break
		}
		i += len(line)
		if start == "" || hidden >= 0 && column > hidden {
			continue
		}
		hidden = -1
		end = i - len(line) + len(content)
		value := start[len(dashes):]
		kept := content[:column] + dashes
		if name := member.FindString(value); name != "" {
			hidden = len(kept)
			kept, value = kept+name, value[len(name):]
		} else if value != "" {
			hidden = len(kept) - 1
		}
		if kind.hides(value) {
			value = Redacted
		} else if value == "" {
			hidden = -1
		}
		if out.Len() > 0 {
			out.WriteByte('\n')
		}
		out.WriteString(strings.TrimRight(kept+value, " "))
	}
	return block{first, end, out.String()}
}

var partName = regexp.MustCompile(`(?i)[;\s]name\s*=\s*(?:"([^"]*)"|([^;\s"]+))`)

// maxPartHead is how many lines the head of a part has.
const maxPartHead = 10

// parts replaces what the parts of a form with the name of a secret hold.
func (s redactor) parts(text string) string {
	var out strings.Builder
	done := 0
	for i := 0; ; {
		n := strings.Index(text[i:], "form-data")
		if n < 0 {
			break
		}
		i += n
		line := text[i : i+upTo(text[i:], "\r\n")]
		found := partName.FindStringSubmatch(line)
		start := i
		i += len(line)
		if found == nil || start < done {
			continue
		}
		kind := s.secrecy(found[1] + found[2])
		body := partBody(text, i)
		if kind == open || body < 0 {
			continue
		}
		// An empty part ends with the newline of its head.
		value, _, _ := strings.Cut(text[body-1:], delimiter(text, start))
		value = strings.TrimRight(strings.TrimPrefix(value, "\n"), "\r")
		if kind.hides(value) {
			out.WriteString(text[done:body])
			out.WriteString(Redacted)
			done = body + len(value)
		}
	}
	if done == 0 {
		return text
	}
	return out.String() + text[done:]
}

// partBody finds the body of the part in whose head i is, -1 without one.
func partBody(text string, i int) int {
	for range maxPartHead {
		n := strings.IndexByte(text[i:], '\n')
		if n < 0 {
			return -1
		}
		i += n + 1
		if strings.HasPrefix(text[i:], "\n") {
			return i + 1
		}
		if strings.HasPrefix(text[i:], "\r\n") {
			return i + 2
		}
	}
	return -1
}

// delimiter gives what ends a part: the line before its head.
func delimiter(text string, i int) string {
	head := text[max(0, i-1000):i]
	lines := strings.Split(head, "\n")
	for n := len(lines) - 1; n >= max(0, len(lines)-maxPartHead); n-- {
		if strings.HasPrefix(lines[n], "--") {
			return "\n" + strings.TrimRight(lines[n], "\r")
		}
	}
	return "\n--"
}
