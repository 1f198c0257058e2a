package exec_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	osexec "os/exec"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// childMode names what a copy of the test binary does instead of testing.
const childMode = "TOUCHSTONE_TEST_CHILD"

func TestMain(m *testing.M) {
	if mode := os.Getenv(childMode); mode != "" {
		child{in: bufio.NewReader(os.Stdin)}.run(mode)
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

// child is a target that misbehaves on purpose.
type child struct{ in *bufio.Reader }

type asked struct {
	ID     int64
	Method string
	Params json.RawMessage
}

// next gives the next request, and exits where there is none, as a target should.
func (c child) next() asked {
	line, err := c.in.ReadBytes('\n')
	if err != nil {
		os.Exit(0)
	}
	var a asked
	if err := json.Unmarshal(line, &a); err != nil {
		panic(err)
	}
	return a
}

// answer is what a good target answers.
func answer(a asked) string {
	result := `{}`
	switch a.Method {
	case "describe":
		result = fmt.Sprintf(`{"protocol":1,"name":"child","version":"%d","features":["map","invoke"]}`, os.Getpid())
	case "map":
		result = `{"text":"{\"status\": 200}","isError":false}`
	case "invoke":
		result = `{"envelope": {"status" : 200,"body":1.50} }`
	}
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"result":%s}`, a.ID, result)
}

func (c child) run(mode string) {
	say := func(lines ...string) { fmt.Print(strings.Join(lines, "\n") + "\n") }
	log := func(text string) { fmt.Fprintln(os.Stderr, text) }
	forever := func() { time.Sleep(24 * time.Hour) } // an empty select is a deadlock, which Go reports
	switch mode {
	case "good":
	case "exit at once":
		log("cannot find module 'adapter'")
		os.Exit(7)
	case "exit when asked":
		c.next()
		log("fatal: the configuration is missing")
		os.Exit(3)
	case "crash":
		c.next()
		panic("index out of range, as if")
	case "answer and exit":
		say(answer(c.next()))
		os.Exit(4)
	case "half a message":
		full := answer(c.next())
		fmt.Print(full[:20])
		os.Exit(0)
	case "last newline missing":
		fmt.Print(answer(c.next()))
		os.Exit(0)
	case "no newline":
		fmt.Print(answer(c.next()))
		io.Copy(io.Discard, c.in)
	case "banner":
		log("starting \x1b[31mup")
		say("Server listening on port 3000")
	case "pretty printed":
		c.next()
		say("{", `  "jsonrpc": "2.0"`, "}")
	case "not a response":
		c.next()
		log("a log line")
		say(`{"hello":"world"}`)
	case "id of another type":
		c.next()
		say(`{"jsonrpc":"2.0","id":"1","result":{}}`)
	case "cannot read":
		c.next()
		say(`{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"Parse error"}}`)
	case "bad result":
		a := c.next()
		say(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"result":{"text":7}}`, a.ID))
	case "error":
		a := c.next()
		say(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"error":{"code":-32601,"message":"no such method"}}`, a.ID))
	case "twice":
		line := answer(c.next())
		say(line, line)
	case "twice on the next request":
		line := answer(c.next())
		say(line)
		next := c.next()
		say(line, answer(next))
	case "twice at the end":
		line := answer(c.next())
		say(line)
		io.Copy(io.Discard, c.in)
		say(line)
	case "twice in a line":
		line := answer(c.next())
		fmt.Println(line + line)
	case "another id":
		a := c.next()
		a.ID += 100
		say(answer(a))
	case "unsolicited":
		say(answer(c.next()), `{"jsonrpc":"2.0","id":99,"result":{}}`)
	case "notification":
		c.next()
		say(`{"jsonrpc":"2.0","method":"log","params":{}}`)
	case "words at the end":
		say(answer(c.next()))
		io.Copy(io.Discard, c.in)
		say("bye")
	case "flood":
		c.next()
		log("here it comes")
		for {
			if _, err := fmt.Print(strings.Repeat("x", 4096)); err != nil {
				os.Exit(1)
			}
		}
	case "closes stdout":
		c.next()
		log("closing my output")
		os.Stdout.Close()
		io.Copy(io.Discard, c.in)
	case "closes stdin":
		say(answer(c.next()))
		os.Stdin.Close()
		forever()
	case "silent":
		io.Copy(io.Discard, c.in)
	case "deaf":
		forever()
	case "deaf to the end":
		say(answer(c.next()))
		forever()
	case "reverse":
		var lines []string
		for range 8 {
			a := c.next()
			lines = append([]string{fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"result":{"envelope":%s}}`, a.ID, a.Params)}, lines...)
		}
		say(lines...)
	case "blank lines and CRLF":
		fmt.Print("\r\n\n" + answer(c.next()) + "\r\n")
	case "log much":
		for i := range 10_000 {
			log(fmt.Sprintf("line %d", i))
		}
		log("the last line")
		say("oops")
	case "environment":
		a := c.next()
		text, _ := json.Marshal(os.Getenv("TOUCHSTONE_BACKEND_URL"))
		say(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"result":{"text":%s}}`, a.ID, text))
	case "grandchild", "leaves a grandchild":
		self, _ := os.Executable()
		cmd := osexec.Command(self)
		cmd.Env = append(os.Environ(), childMode+"=deaf")
		cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr // it holds the pipes
		if err := cmd.Start(); err != nil {
			panic(err)
		}
		a := c.next()
		say(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"result":{"protocol":1,"name":"child","version":"%d","features":["map"]}}`, a.ID, cmd.Process.Pid))
		if mode == "leaves a grandchild" {
			os.Exit(5)
		}
	default:
		panic("no such mode: " + mode)
	}
	for {
		say(answer(c.next()))
	}
}
