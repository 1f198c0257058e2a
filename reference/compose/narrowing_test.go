package compose_test

import (
	"testing"

	"example.com/touchstone/reference/compose"
	"github.com/google/go-cmp/cmp"
)

func TestNarrowing(t *testing.T) {
	const fallback = "Constrains the result set."
	type args = []compose.Argument
	tests := []struct {
		name       string
		give, want args
	}{
		{"nothing", nil, nil},
		{"none narrows", args{{"id", "x"}, {"body", "y"}}, nil},
		{"cardinality before selection, each in schema order",
			args{{"since", "a"}, {"page", "b"}, {"id", "c"}, {"filter", "d"}, {"limit", "e"}},
			args{{"page", "b"}, {"limit", "e"}, {"since", "a"}, {"filter", "d"}}},
		{"cardinality wins within a name", args{{"cursor", "a"}, {"pageCursor", "b"}}, args{{"pageCursor", "b"}, {"cursor", "a"}}},
		{"descriptions", args{{"limit", ""}, {"top", " \n"}, {"skip", " s "}},
			args{{"limit", fallback}, {"top", fallback}, {"skip", " s "}}},
		{"at most eight, the last selections fall off",
			args{{"query", "1"}, {"search", "2"}, {"fields", "3"}, {"after", "4"}, {"before", "5"}, {"until", "6"},
				{"limit", "7"}, {"skip", "8"}, {"maxDepth", "9"}},
			args{{"limit", "7"}, {"maxDepth", "9"}, {"query", "1"}, {"search", "2"}, {"fields", "3"}, {"after", "4"},
				{"before", "5"}, {"until", "6"}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := compose.DefaultNarrowing().Choose(tt.give)
			if diff := cmp.Diff(tt.want, got); diff != "" && len(got)+len(tt.want) > 0 {
				t.Errorf("Choose (-want +got):\n%s", diff)
			}
		})
	}
}

func TestNarrowingNames(t *testing.T) {
	narrows := []string{
		"limit", "Limit", "LIMIT", "limits", "pageSize", "page_size", "page-size", "X-Page", "$top", "$select", "per.page",
		"maxResults", "MAXResults", "resultsMax", "per", "fields", "fields[]", "dateFrom", "HTTPLimit", "limitHTTP", "v2Limit",
		"created_after", "filters", "searchQuery", "selects", "tops", "counts", "çaTake", "status",
	}
	others := []string{
		"", "s", "id", "limited", "unlimited", "climit", "sizeable", "pageable", "perhaps", "maximum", "topic", "mistake",
		"pagesize", "hop", "pers0n", "limit2", "maxs1", "LIMITs0", "ss", "description", "query4", "formats", "statu",
	}
	choose := func(name string) int {
		return len(compose.DefaultNarrowing().Choose([]compose.Argument{{Name: name, Description: "d"}}))
	}
	for _, name := range narrows {
		if choose(name) != 1 {
			t.Errorf("%q does not narrow", name)
		}
	}
	for _, name := range others {
		if choose(name) != 0 {
			t.Errorf("%q narrows", name)
		}
	}
	// Three letters keep their s, four lose it.
	policy := compose.NarrowingPolicy{Cardinality: []string{"abs", "tab"}, Cap: 9}
	got := policy.Choose([]compose.Argument{{Name: "abs"}, {Name: "tabs"}, {Name: "ab"}, {Name: "abss"}})
	want := []compose.Argument{{Name: "abs"}, {Name: "tabs"}, {Name: "abss"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("Choose (-want +got):\n%s", diff)
	}
}

// The published arguments come from the template, hidden ones left out.
func TestArguments(t *testing.T) {
	template := parseTemplate(t, `{"method":"POST","route":"/p","parameters":[
		{"name":"pg","in":"query","as":"page"},{"name":"h","in":"query","fill":{"kind":"constant","value":1}}],
		"body":{"properties":["z","hid","a"],"curation":[{"name":"hid","fill":{"kind":"deferred","source":"s"}},{"name":"a","as":"b"}]}}`)
	if diff := cmp.Diff([]string{"page", "z", "b"}, template.Arguments()); diff != "" {
		t.Errorf("Arguments (-want +got):\n%s", diff)
	}
	root := parseTemplate(t, `{"method":"POST","route":"/p","bodyRoot":"doc","rootFill":{"kind":"constant","value":1}}`)
	if got := root.Arguments(); len(got) != 0 {
		t.Errorf("Arguments with a filled root = %q", got)
	}
}
