package mutant

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"example.com/touchstone/reference/envelope"
	"example.com/touchstone/reference/leak"
	"example.com/touchstone/reference/serve"
	"example.com/touchstone/schemas"
)

func leakMutants() []Mutant {
	return slices.Concat(
		group(breaks("LEAK-01"), frameMutants()...), group(breaks("LEAK-02"), exceptionMutants()...),
		group(breaks("LEAK-03"), pathMutants()...), group(breaks("LEAK-04"), connectionMutants()...),
		group(breaks("LEAK-05"), credentialMutants()...), group(breaks("LEAK-06"), lengthMutants()...),
		group(breaks("LEAK-07"), layoutMutants()...), group(breaks("LEAK-09"), eagerMutants()...),
		// What a rule forwards cannot be shown to pass the filter where nothing does.
		group(breaks("FORWARD-01", "FORWARD-02", "FORWARD-03", "FORWARD-04", "FORWARD-05", "HEADER-04", "HEADER-05", "LEAK-08"),
			mutant("eager-everything", "It withholds everything that a backend says.", screening(func(filter leak.Filter) envelope.Screen {
				was := envelope.ScreenWith(filter)
				return func(c envelope.Carrier, raw string) (string, bool) {
					text, ok := was(c, raw)
					return text, ok && c == envelope.FromInternalError
				}
			}))),
		hostileMutants(),
	)
}

// without gives a list without one of its entries.
func without(list []string, entry string) []string {
	return slices.DeleteFunc(slices.Clone(list), func(s string) bool { return s == entry })
}

// slug writes a word of a rule as part of an id.
func slug(word string) string {
	return strings.Trim(strings.Map(func(r rune) rune {
		switch {
		case 'A' <= r && r <= 'Z':
			return r + 'a' - 'A'
		case 'a' <= r && r <= 'z', '0' <= r && r <= '9':
			return r
		}
		return '-'
	}, word), "-")
}

// blind filters as if what matches an expression were not there.
func blind(expression string) func() serve.Reference {
	unseen := regexp.MustCompile(expression)
	return screening(func(filter leak.Filter) envelope.Screen {
		return func(_ envelope.Carrier, raw string) (string, bool) {
			text := leak.Normalize(raw)
			return text, text != "" && !filter.Withholds(unseen.ReplaceAllString(text, ""))
		}
	})
}

// losing is a mutant of one rule of the filter for each word of a list.
func losing(prefix string, words []string, edit func(f *leak.Filter, word string)) []Mutant {
	var all []Mutant
	for _, word := range words {
		all = append(all, mutant("leak-"+prefix+"-"+slug(word)+"-lost", fmt.Sprintf("The filter does not know %s.", word),
			filtering(func(f *leak.Filter) { edit(f, word) })))
	}
	return all
}

func frameMutants() []Mutant {
	all := []Mutant{
		mutant("leak-frames-off", "The filter does not know frames with a name.", filtering(func(f *leak.Filter) { f.NamedFrames = false })),
		mutant("leak-positions-off", "The filter does not know frames with line and column.", filtering(func(f *leak.Filter) { f.PositionFrames = false })),
		mutant("leak-positions-closed-lost", "The filter does not know a position in parentheses.", filtering(func(f *leak.Filter) { f.PositionTail = "" })),
		mutant("leak-positions-at-end-only", "The filter knows a position at the end of a text only.", blind(`:\d+ in `)),
		mutant("leak-traceback-off", "The filter does not know the header of a traceback.", filtering(func(f *leak.Filter) { f.TracebackHeader = "" })),
		mutant("leak-frame-first-lost", "The filter does not know a frame at the start of a text.", blind(`^at `)),
		mutant("leak-frame-inside-lost", "The filter knows a frame at the start of a text only.", blind(` at `)),
		mutant("leak-frame-digits", "A name has no digits for the filter.", blind(`[a-z]*[0-9][a-z0-9]*\(`)),
		mutant("leak-frame-blank", "The filter knows a frame without a blank before the parenthesis only.", blind(` \(`)),
		mutant("leak-frame-dots", "The filter knows a frame without dots before the parenthesis only.", blind(` \. \(`)),
		mutant("leak-frame-undotted-lost", "The filter knows dotted names only.", blind(`at [a-z0-9]+ ?\(`)),
	}
	for _, mark := range strings.Split(leak.Default().NameMarks, "") {
		name := map[string]string{"_": "underscore", "$": "dollar", ".": "dot", "<": "less", ">": "greater"}[mark]
		all = append(all, mutant("leak-frame-"+name+"-lost", fmt.Sprintf("A name has no %s for the filter.", mark), filtering(func(f *leak.Filter) {
			f.NameMarks = strings.ReplaceAll(f.NameMarks, mark, "")
		})))
	}
	return all
}

func exceptionMutants() []Mutant {
	return append(losing("type", leak.Default().ErrorTypes, func(f *leak.Filter, word string) { f.ErrorTypes = without(f.ErrorTypes, word) }),
		mutant("leak-exceptions-off", "The filter does not know exception types.", filtering(func(f *leak.Filter) { f.ExceptionSuffix = "" })),
		mutant("leak-exceptions-before-colon", "The filter knows an exception type before a colon only.", blind(`[A-Za-z0-9]*Exception[^:]`)),
		mutant("leak-exceptions-at-end", "The filter knows an exception type before a blank only.", blind(`Exception:`)),
		mutant("leak-error-types-off", "The filter does not know JavaScript's error types.", filtering(func(f *leak.Filter) { f.ErrorTypes = nil })),
	)
}

func pathMutants() []Mutant {
	return slices.Concat([]Mutant{
		mutant("leak-drives-off", "The filter does not know drives.", filtering(func(f *leak.Filter) { f.DrivePaths = false })),
		mutant("leak-drives-upper-only", "The filter knows drives in upper case only.", blind(`\b[a-z]:\\`)),
		mutant("leak-drives-lower-only", "The filter knows drives in lower case only.", blind(`\b[A-Z]:\\`)),
		mutant("leak-shares-off", "The filter does not know UNC paths.", filtering(func(f *leak.Filter) { f.UNCPaths = false })),
		mutant("leak-roots-off", "The filter does not know Unix paths.", filtering(func(f *leak.Filter) { f.UnixRoots = nil })),
		mutant("leak-sources-off", "The filter does not know positions in source files.", filtering(func(f *leak.Filter) { f.SourceExtensions.List = nil })),
		mutant("leak-sources-case-sensitive", "The filter knows source files in lower case only.", filtering(func(f *leak.Filter) { f.SourceExtensions.AnyCase = false })),
		mutant("leak-sources-line-word-lost", "The filter does not know the word line before the number.", filtering(func(f *leak.Filter) { f.LineWord = "" })),
	},
		losing("root", leak.Default().UnixRoots, func(f *leak.Filter, word string) { f.UnixRoots = without(f.UnixRoots, word) }),
		losing("source", leak.Default().SourceExtensions.List, func(f *leak.Filter, word string) { f.SourceExtensions.List = without(f.SourceExtensions.List, word) }),
	)
}

func connectionMutants() []Mutant {
	return slices.Concat([]Mutant{
		mutant("leak-keys-off", "The filter does not know connection strings.", filtering(func(f *leak.Filter) { f.ConnectionKeys.List = nil })),
		mutant("leak-keys-case-sensitive", "The filter knows the keys of connection strings in one case only.", filtering(func(f *leak.Filter) { f.ConnectionKeys.AnyCase = false })),
		mutant("leak-keys-upper-lost", "The filter does not know the keys of connection strings in capitals.", blind(`[A-Z]{3,}=`)),
		mutant("leak-keys-lower-lost", "The filter does not know the keys of connection strings in lower case.", blind(`\b[a-z]+=`)),
		mutant("leak-schemes-off", "The filter does not know database URLs.", filtering(func(f *leak.Filter) { f.URLSchemes.List = nil })),
		mutant("leak-schemes-case-sensitive", "The filter knows the schemes of database URLs in lower case only.", filtering(func(f *leak.Filter) { f.URLSchemes.AnyCase = false })),
		mutant("leak-user-info-off", "The filter does not know URLs with user and password.", filtering(func(f *leak.Filter) { f.UserInfoURLs = false })),
	},
		losing("key", leak.Default().ConnectionKeys.List, func(f *leak.Filter, word string) { f.ConnectionKeys.List = without(f.ConnectionKeys.List, word) }),
		losing("scheme", leak.Default().URLSchemes.List, func(f *leak.Filter, word string) { f.URLSchemes.List = without(f.URLSchemes.List, word) }),
	)
}

func credentialMutants() []Mutant {
	return []Mutant{
		mutant("leak-bearer-off", "The filter does not know bearer tokens.", filtering(func(f *leak.Filter) { f.AuthSchemes.List = nil })),
		mutant("leak-bearer-case-sensitive", "The filter knows Bearer in one spelling only.", filtering(func(f *leak.Filter) { f.AuthSchemes.AnyCase = false })),
		mutant("leak-bearer-lower-lost", "The filter does not know Bearer in lower case.", blind(`bearer`)),
		mutant("leak-bearer-upper-lost", "The filter does not know Bearer in capitals.", blind(`BEARER`)),
		mutant("leak-bearer-nine", "The filter knows a bearer token of nine characters or more.", filtering(func(f *leak.Filter) { f.MinTokenLength = 9 })),
		mutant("leak-bearer-twenty", "The filter knows a bearer token of twenty characters or more.", filtering(func(f *leak.Filter) { f.MinTokenLength = 20 })),
		mutant("leak-bearer-letters-only", "A bearer token has no punctuation for the filter.", blind(`Bearer [a-z0-9]{0,7}[-._]`)),
		mutant("leak-tokens-off", "The filter does not know JSON Web Tokens.", filtering(func(f *leak.Filter) { f.JWTs = false })),
	}
}

// measuring replaces the limit of the filter.
func measuring(tooLong func(text string) bool) func() serve.Reference {
	return screening(func(filter leak.Filter) envelope.Screen {
		filter.MaxUnits = 0
		return func(_ envelope.Carrier, raw string) (string, bool) {
			text := leak.Normalize(raw)
			return text, text != "" && !tooLong(text) && !filter.Withholds(text)
		}
	})
}

// cutting forwards the start of what is too long.
func cutting(mark string) func() serve.Reference {
	return screening(func(filter leak.Filter) envelope.Screen {
		limit := filter.MaxUnits
		filter.MaxUnits = 0
		return func(c envelope.Carrier, raw string) (string, bool) {
			text := leak.Normalize(raw)
			if len(text) > limit && utf8.RuneCountInString(text) > limit/2 {
				cut := limit
				for !utf8.RuneStart(text[cut]) {
					cut--
				}
				if long := leak.Default(); long.Withholds(text) && !filter.Withholds(text) {
					text = text[:cut] + mark
				}
			}
			return text, text != "" && !filter.Withholds(text)
		}
	})
}

func lengthMutants() []Mutant {
	return []Mutant{
		mutant("leak-length-off", "The filter has no limit.", filtering(func(f *leak.Filter) { f.MaxUnits = 0 })),
		mutant("leak-length-1001", "The filter lets 1001 units pass.", filtering(func(f *leak.Filter) { f.MaxUnits = 1001 })),
		mutant("leak-length-1024", "The filter lets 1024 units pass.", filtering(func(f *leak.Filter) { f.MaxUnits = 1024 })),
		mutant("leak-length-characters", "The filter counts characters.", measuring(func(text string) bool { return utf8.RuneCountInString(text) > 1000 })),
		mutant("leak-length-cut", "The filter cuts what is too long.", cutting("")),
		mutant("leak-length-ellipsis", "The filter cuts what is too long and marks the place.", cutting("…")),
	}
}

// layoutMutants do not see a leak behind some white space (LEAK-07).
func layoutMutants() []Mutant {
	// seeing filters the text as this leaves it. The length is taken as ever.
	seeing := func(prepare func(raw string) string) func() serve.Reference {
		return screening(func(filter leak.Filter) envelope.Screen {
			length := leak.Filter{MaxUnits: filter.MaxUnits}
			filter.MaxUnits = 0
			return func(_ envelope.Carrier, raw string) (string, bool) {
				text := leak.Normalize(raw)
				return text, text != "" && !filter.Withholds(prepare(raw)) && !length.Withholds(text)
			}
		})
	}
	return []Mutant{
		mutant("layout-before", "The filter comes before white space is normalised.", seeing(func(raw string) string { return raw })),
		mutant("layout-by-line", "The filter looks at each line alone.", seeing(func(raw string) string {
			return strings.NewReplacer("\r\n", "\x00", "\n", "\x00", "\t", " ").Replace(raw)
		})),
		mutant("layout-tabs", "The filter does not see behind tabs.", seeing(func(raw string) string {
			return strings.Join(strings.FieldsFunc(raw, func(r rune) bool { return r == '\r' || r == '\n' || r == ' ' }), " ")
		})),
		mutant("layout-runs", "The filter sees single blanks only.", seeing(func(raw string) string {
			return strings.NewReplacer("  ", "\x00", "\r\n", " ", "\t", " ").Replace(raw)
		})),
	}
}

// eagerMutants withhold benign text (LEAK-09).
func eagerMutants() []Mutant {
	also := func(id, doc, expression string) Mutant {
		extra := regexp.MustCompile(expression)
		return mutant("eager-"+id, doc, screening(func(filter leak.Filter) envelope.Screen {
			was := envelope.ScreenWith(filter)
			return func(c envelope.Carrier, raw string) (string, bool) {
				text, ok := was(c, raw)
				return text, ok && !extra.MatchString(text)
			}
		}))
	}
	return []Mutant{
		also("error", "It withholds the word Error.", `\bErrors?\b`),
		also("errors", "It withholds a number of errors.", `\d errors\b`),
		also("exception", "It withholds the word exception.", `\bexception\b`),
		also("exceptional", "It withholds words that begin with Exception.", `\bException[a-z]`),
		also("exception-inside", "It withholds words that hold Exception.", `[A-Za-z]Exception[a-z]`),
		also("error-types-inside", "It withholds words that hold an error type.", `TypeError[a-z]|[a-z]TypeError`),
		also("error-types-any-case", "It withholds error types in any case.", `(?i)\btypeerror\b`),
		also("at", "It withholds at before any word.", `(?:^| )at [a-z]+ `),
		also("at-inside", "It takes words that end in at for a frame.", `[a-z]at [a-z]+\(`),
		also("parenthesis", "It withholds a word before a parenthesis.", `[a-z] ?\(`),
		also("at-port", "It takes one number behind a colon for a position.", `at [a-z]+:\d+`),
		also("at-time", "It takes a time for a position.", `at \d+:\d+`),
		also("traceback", "It withholds the word traceback.", `(?i)traceback`),
		also("routes", "It withholds every absolute path.", `(?:^| )/[a-z]+`),
		also("roots-any-case", "It knows Unix roots in any case.", `(?i) /users/`),
		also("roots-by-beginning", "It withholds paths that begin like a root.", ` /(?:home|var|app|tmp|etc|source|opt)[a-z]`),
		also("roots-inside", "It withholds a root anywhere in a path.", `[a-z0-9]/(?:home|var|app)\b`),
		also("drive", "It withholds a letter with a colon.", `\b[A-Z]:`),
		also("drive-slash", "It takes C:/ for a drive.", `\b[A-Z]:/`),
		also("backslash", "It withholds backslashes between letters.", `[a-z]\\[a-z]`),
		also("source", "It withholds the names of source files.", `\.(?:go|js)\b`),
		also("any-extension", "It takes any file with a line for source.", `\.[a-z]+:\d`),
		also("source-colon", "It takes a source file before a colon for a position.", `\.cs:`),
		also("server", "It withholds the word Server.", `\bServer\b`),
		also("password", "It withholds the word password.", `(?i)password`),
		also("key-without-end", "It withholds a key with a value, semicolon or not.", `Server=[a-z]+`),
		also("key-without-value", "It withholds a key without a value.", `Password=;`),
		also("key-inside", "It withholds words that begin like a key.", `Server[a-z]+=`),
		also("url", "It withholds every URL.", `https?://`),
		also("url-port", "It takes a port for a password.", `://[a-z.]+:\d+`),
		also("url-at-sign", "It withholds a URL with an at sign anywhere.", `://\S+@`),
		also("mail", "It withholds mail addresses.", `[a-z]@[a-z]`),
		also("scheme-word", "It withholds the word redis.", `\bredis\b`),
		also("scheme-inside", "It withholds schemes that begin like a known one.", `mysql[a-z]*://`),
		also("bearer", "It withholds the word bearer.", `(?i)\bbearer\b`),
		mutant("eager-bearer-seven", "It takes seven characters for a token.", filtering(func(f *leak.Filter) { f.MinTokenLength = 7 })),
		mutant("eager-bearer-five", "It takes five characters for a token.", filtering(func(f *leak.Filter) { f.MinTokenLength = 5 })),
		also("token-parts", "It takes two parts for a JSON Web Token.", `eyJ\w+\.\w+`),
		also("token-start", "It withholds eyJ.", `eyJ `),
		also("dotted", "It withholds dotted names.", `[a-z]+\.[a-z]+\.[a-z]+ is`),
		also("digits", "It withholds a colon between two digits.", `\b\d:\d\b`),
		also("positions", "It takes two numbers behind colons for a position, at or not.", `\w:\d+:\d+`),
		also("double-backslash", "It takes two backslashes for a share.", `\\\\`),
		mutant("eager-length-999", "It withholds 1000 units.", filtering(func(f *leak.Filter) { f.MaxUnits = 999 })),
		mutant("eager-length-bytes", "It counts bytes of UTF-8.", measuring(func(text string) bool { return len(text) > 1000 })),
		mutant("eager-length-before", "It measures a text before its white space is normalised.", screening(func(filter leak.Filter) envelope.Screen {
			was := envelope.ScreenWith(filter)
			return func(c envelope.Carrier, raw string) (string, bool) {
				text, ok := was(c, raw)
				return text, ok && len(raw) <= 3*filter.MaxUnits
			}
		})),
	}
}

// hostileMutants are slow where the text is large (LEAK-10).
func hostileMutants() []Mutant {
	return group(breaks("LEAK-10"), mutant("hostile-quadratic", "It takes over a second for a large text of frames without an end.",
		failing(func(resp envelope.Response, _ *schemas.BackendError) {
			if len(resp.Body) > 1<<18-1 && strings.HasPrefix(string(resp.Body), "at .....") {
				time.Sleep(1100 * time.Millisecond)
			}
		})))
}
