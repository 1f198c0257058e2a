package mutant

import (
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"example.com/touchstone/reference/envelope"
	"example.com/touchstone/reference/leak"
	"example.com/touchstone/reference/serve"
)

// carrierMutants let a carrier past the filter, or deal with a hit otherwise
// than by replacing the whole text (LEAK-08).
func carrierMutants() []Mutant {
	one := func(carrier envelope.Carrier) Mutant {
		return mutant("unfiltered-"+strings.ReplaceAll(slug(string(carrier)), "--", "-"), "It does not filter the carrier "+string(carrier)+".", unfiltered(carrier))
	}
	eight := []Mutant{
		one(envelope.FromProblemDetail), one(envelope.FromProblemTitle), one(envelope.FromNestMessage), one(envelope.FromNestJoined),
		one(envelope.FromJSONString), one(envelope.FromPlainText), one(envelope.FromHost), one(envelope.FromInternalError),
	}
	for _, key := range []string{"detail", "error_description", "error", "title", "reason"} {
		eight = append(eight, mutant("unfiltered-key-"+slug(key), "It does not filter the key "+key+" of a message envelope.", keyUnfiltered(key)))
	}
	classes := breaks("LEAK-01", "LEAK-02", "LEAK-03", "LEAK-04", "LEAK-05", "LEAK-06")
	return slices.Concat(
		group(breaks("LEAK-08"), eight...),
		group(breaks("FIELD-07"), one(envelope.FromFieldMessage), one(envelope.FromNestEntry)),
		group(classes, one(envelope.FromMessageKey), mutant("leak-off", "It has no filter.", func() serve.Reference {
			return serve.Reference{Mapper: envelope.NewMapperWith(leak.Filter{})}
		})),
		group(append(slices.Clone(classes[:5]), "FIELD-07"), mutant("leak-cut-out", "It cuts a hit out of the text.", cutOut(""))),
		group(append(slices.Clone(classes[:5]), "FIELD-07"), mutant("leak-masked", "It masks a hit in the text.", cutOut("[withheld] "))),
	)
}

// keyUnfiltered lets one key of a message envelope past the filter.
func keyUnfiltered(key string) func() serve.Reference {
	const free envelope.Carrier = "unfiltered"
	return func() serve.Reference {
		r := recognizing("message envelope", func(was recognizer, m *envelope.Mapper, doc *envelope.Document) (envelope.Recognition, bool) {
			seen, ok := was(m, doc)
			if v := doc.Value.Get(key); ok && v.Type == gjson.String && v.Str == seen.Message {
				seen.Carrier = free
			}
			return seen, ok
		})()
		screen := r.Mapper.Screen
		r.Mapper.Screen = func(c envelope.Carrier, raw string) (string, bool) {
			text, ok := screen(c, raw)
			return text, ok || c == free && text != ""
		}
		return r
	}
}

// cutOut takes out of a message the words that trip the filter.
func cutOut(mark string) func() serve.Reference {
	return screening(func(filter leak.Filter) envelope.Screen {
		was, long := envelope.ScreenWith(filter), leak.Filter{MaxUnits: filter.MaxUnits}
		return func(c envelope.Carrier, raw string) (string, bool) {
			text, ok := was(c, raw)
			switch c {
			case envelope.FromFieldName, envelope.FromReferenceHeader, envelope.FromTraceID, envelope.FromInternalError:
				return text, ok
			}
			if long.Withholds(text) {
				return text, false
			}
			for !ok && text != "" {
				rest, cut := cutOne(filter, text, mark)
				if !cut {
					break
				}
				text, ok = rest, rest != "" && !filter.Withholds(rest)
			}
			return text, ok
		}
	})
}

// cutOne takes out the fewest neighbouring words that trip the filter by themselves.
func cutOne(filter leak.Filter, text, mark string) (rest string, cut bool) {
	words := strings.Split(text, " ")
	for n := 1; n <= min(6, len(words)); n++ {
		for i := 0; i+n <= len(words); i++ {
			if filter.Withholds(strings.Join(words[i:i+n], " ")) {
				left := strings.Join(words[:i], " ") + " " + mark + strings.Join(words[i+n:], " ")
				return leak.Normalize(left), true
			}
		}
	}
	return text, false
}
