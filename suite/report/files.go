package report

import (
	"encoding/json"
	"encoding/xml"
	"fmt"

	"github.com/onsi/ginkgo/v2/reporters"

	"example.com/touchstone/fixtures"
	"example.com/touchstone/schemas"
	"example.com/touchstone/suite/target"
)

// CertificateFile is the name of the certificate in an output directory.
const CertificateFile = "certificate.json"

// Certificate gives a certificate as indented JSON, valid by its schema.
func Certificate(cert schemas.Certificate) ([]byte, error) {
	data, err := json.MarshalIndent(cert, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("writing the certificate: %w", err)
	}
	if err := schemas.Check(schemas.CertificateSchema, data); err != nil {
		return nil, fmt.Errorf("the certificate breaks its own schema: %w", err)
	}
	return append(data, '\n'), nil
}

// JUnit gives the run as JUnit XML: a test case for each case, with the text
// of its failure, its warnings as output, and the verdict as a test case of its
// own where no case shows why the run did not pass: a CI server that reads only
// this file must not see green beside an exit code that is not 0.
func JUnit(corpus *fixtures.Corpus, cert schemas.Certificate, command string) ([]byte, error) {
	suite := reporters.JUnitTestSuite{
		Name:      "touchstone",
		Package:   cert.Target.Spec,
		Timestamp: cert.StartedAt.Format("2006-01-02T15:04:05"),
		Time:      cert.DurationMs / 1000,
	}
	for _, r := range cert.Cases {
		k, _ := corpus.Case(r.ID)
		if r.Status == schemas.Warn && cert.Settings.Strict {
			r.Status = schemas.Fail
		}
		one := reporters.JUnitTestCase{Name: r.ID, Classname: subject(k), Status: string(r.Status), Time: seconds(r)}
		text := Failure(k, r, command+" --case "+r.ID)
		switch r.Status {
		case schemas.Fail:
			suite.Failures++
			one.Failure = &reporters.JUnitFailure{Message: firstProblem(r), Type: firstRequirement(r), Description: text}
		case schemas.Warn:
			one.SystemOut = text
		case schemas.NotApplicable, schemas.NotRun:
			suite.Skipped++
			one.Skipped = &reporters.JUnitSkipped{Message: target.Printable(r.Reason)}
		}
		suite.TestCases = append(suite.TestCases, one)
	}
	if code := cert.Verdict.ExitCode; code > 1 || code == 1 && suite.Failures == 0 {
		suite.Errors++
		suite.TestCases = append(suite.TestCases, reporters.JUnitTestCase{
			Name: "verdict", Classname: "touchstone", Status: cert.Verdict.Status,
			Error: &reporters.JUnitError{Message: cert.Verdict.Status, Type: fmt.Sprintf("exit %d", code), Description: target.Printable(cert.Verdict.Reason)},
		})
	}
	suite.Tests = len(suite.TestCases)
	data, err := xml.MarshalIndent(reporters.JUnitTestSuites{
		Tests: suite.Tests, Disabled: suite.Skipped, Errors: suite.Errors, Failures: suite.Failures, Time: suite.Time,
		TestSuites: []reporters.JUnitTestSuite{suite},
	}, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("writing the JUnit report: %w", err)
	}
	return append([]byte(xml.Header), append(data, '\n')...), nil
}

func subject(k fixtures.Case) string {
	if len(k.Requirements) == 0 {
		return ""
	}
	return k.Requirements[0]
}

func seconds(r schemas.CaseResult) float64 {
	total := 0.0
	for _, run := range r.Runs {
		total += run.DurationMs / 1000
	}
	return total
}

func firstProblem(r schemas.CaseResult) string {
	for _, run := range r.Runs {
		for _, f := range run.Findings {
			return f.Requirement + ": " + target.Printable(short(f.Problem, maxProblem))
		}
	}
	return ""
}
