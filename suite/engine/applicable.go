package engine

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"example.com/touchstone/fixtures"
	"example.com/touchstone/schemas"
)

// Applicable gives the ways a case can be run against this target, or the
// reason why there is none.
func (e *Engine) Applicable(k fixtures.Case) (ways []string, reason string) {
	needs, possible := slices.Clone(k.Needs), waysOf(k)
	switch k.Kind {
	case schemas.KindArgumentMapping:
		possible = []string{schemas.FeatureCompose}
	case schemas.KindAgent:
		features, err := agentFeatures(k)
		if err != nil {
			return nil, err.Error()
		}
		needs, possible = append(needs, features...), agentWays(k)
	case schemas.KindCalls:
		features, err := callFeatures(k, e.settings)
		if err != nil {
			return nil, err.Error()
		}
		needs = append(needs, features...)
	}
	for _, feature := range needs {
		switch {
		case e.claims(feature):
		case feature == schemas.FeatureLimits:
			return nil, "limits fixed by target"
		case e.claims(schemas.FeatureMCP):
			return nil, fmt.Sprintf("cannot be expressed over MCP: needs %q", feature)
		default:
			return nil, fmt.Sprintf("needs the feature %q, which the target does not claim", feature)
		}
	}
	if k.Kind == schemas.KindCalls {
		possible = []string{viaCalls}
	}
	lacking := ""
	for _, way := range possible {
		switch name := e.lacks(k, way); {
		case way != viaCalls && !e.claims(way), way == schemas.FeatureInvoke && e.options.WithoutInvoke:
		case name != "":
			lacking = name
		default:
			ways = append(ways, way)
		}
	}
	switch {
	case len(ways) > 0:
		return ways, ""
	case lacking != "":
		return nil, "the target has no operation " + lacking
	case e.claims(schemas.FeatureMCP):
		return nil, fmt.Sprintf("cannot be expressed over MCP: it is asked through %s only", strings.Join(quoteAll(possible), " or "))
	}
	return nil, fmt.Sprintf("needs the feature %s, which the target does not claim", strings.Join(quoteAll(possible), " or "))
}

func (e *Engine) claims(feature string) bool {
	return slices.Contains(e.description.Features, feature)
}

func quoteAll(words []string) []string {
	out := make([]string, len(words))
	for i, w := range words {
		out[i] = fmt.Sprintf("%q", w)
	}
	return out
}

// settingFeatures are the features that settings need. Limits a target cannot
// set are a reason of their own.
var settingFeatures = map[string]string{
	"timeoutMs": schemas.FeatureLimits, "maxResponseBytes": schemas.FeatureLimits,
	"maxInlineFileBytes": schemas.FeatureLimits, "maxFileBytes": schemas.FeatureLimits,
	"identityCookies": schemas.FeatureCookies, "deferred": schemas.FeatureDeferred,
	"files": schemas.FeatureFileRefs, "ranker": schemas.FeatureSearchRanker,
	"internalFault": schemas.FeatureInternalFault, "backendUrl": schemas.FeatureInvoke,
}

// callFeatures gives every feature that a case of calls needs. A setting that
// has the value of the run's own settings, base, needs none.
func callFeatures(k fixtures.Case, base map[string]string) ([]string, error) {
	in, err := callsInput(k.Input)
	if err != nil {
		return nil, err
	}
	var features []string
	need := func(f string) {
		if !slices.Contains(features, f) {
			features = append(features, f)
		}
	}
	for name, value := range in.Settings {
		if string(value) != base[name] {
			need(settingFeatures[name])
		}
	}
	for _, raw := range in.Calls {
		var head struct{ Invoke, Search, Load, Tool *json.RawMessage }
		if err := json.Unmarshal(raw, &head); err != nil {
			return nil, fmt.Errorf("case %s: reading a call: %w", k.ID, err)
		}
		switch {
		case head.Invoke != nil:
			need(schemas.FeatureInvoke)
		case head.Tool != nil:
			need(schemas.FeatureMCP)
		default:
			need(schemas.FeatureMetaTools)
		}
	}
	slices.Sort(features)
	return features, nil
}

// lacks gives an operation of the sample API that a case calls in some way and
// the target does not expose; "" where there is none.
func (e *Engine) lacks(k fixtures.Case, way string) string {
	if e.description.Operations == nil {
		return ""
	}
	for _, name := range operationsOf(k, way) {
		if slices.Contains(schemas.SampleOperations(), name) && !slices.Contains(e.description.Operations, name) {
			return name
		}
	}
	return ""
}

// operationsOf gives the operations that a case calls.
func operationsOf(k fixtures.Case, way string) []string {
	if way == schemas.FeatureInvoke && k.Kind == schemas.KindErrorMapping {
		in, err := k.Facts()
		if err == nil && len(in.KnownFields) > 0 {
			return []string{"create_order"}
		}
		return []string{"get_order"}
	}
	if way != viaCalls {
		return nil
	}
	in, err := callsInput(k.Input)
	if err != nil {
		return nil // reported where the case is run
	}
	var list []string
	for _, raw := range in.Calls {
		var call struct {
			Invoke, Load struct{ Name string }
			Tool         struct{ Arguments struct{ Name any } }
		}
		if json.Unmarshal(raw, &call) != nil {
			continue
		}
		list = append(list, call.Invoke.Name, call.Load.Name)
		if name, ok := call.Tool.Arguments.Name.(string); ok {
			list = append(list, name)
		}
	}
	return list
}
