package main

import (
	"errors"

	"github.com/spf13/cobra"
)

func mutantsCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "mutants",
		Short: "Print the matrix of requirements, cases and mutants",
		Args:  cobra.NoArgs,
		RunE:  func(*cobra.Command, []string) error { return errors.New("not yet") },
	}
}
