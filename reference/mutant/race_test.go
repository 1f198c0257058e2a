//go:build race

package mutant

func init() { sampled = true }
