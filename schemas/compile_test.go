package schemas

import "testing"

// A schema is compiled when it is first used and never again.
func TestCompiledOnce(t *testing.T) {
	first, err := schemaFor(SuccessSchema)
	if err != nil {
		t.Fatal(err)
	}
	loader := compiled.loader
	if _, err := schemaFor(SDKErrorSchema); err != nil {
		t.Fatal(err)
	}
	again, err := schemaFor(SuccessSchema)
	if err != nil {
		t.Fatal(err)
	}
	if first != again || compiled.loader != loader {
		t.Error("the schema or its loader was made anew")
	}
}

// BenchmarkCompile is what the first use of a schema costs, with and without the
// reading of all files that the very first use of any pays for.
func BenchmarkCompile(b *testing.B) {
	refs := []Ref{SuccessSchema, BackendErrorSchema, SDKErrorSchema, CaseSchema, ResponseSchema, AnswerSchema, MapParamsSchema, CertificateSchema}
	b.Run("load and compile 8", func(b *testing.B) {
		for b.Loop() {
			compiled.loader, compiled.schemas = nil, nil
			for _, ref := range refs {
				if _, err := schemaFor(ref); err != nil {
					b.Fatal(err)
				}
			}
		}
	})
	b.Run("compile 8", func(b *testing.B) {
		for b.Loop() {
			clear(compiled.schemas)
			for _, ref := range refs {
				if _, err := schemaFor(ref); err != nil {
					b.Fatal(err)
				}
			}
		}
	})
}
