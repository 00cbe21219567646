package untrusted

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"stevedore.dev/stevedore/internal/confine"
	"stevedore.dev/stevedore/render"
)

// Verb is what the binary is called with to be the child; two numbers follow:
// bytes of memory and seconds of processor time.
const Verb = "render-untrusted"

// Serve is the child: it confines this process and then answers what comes in,
// until there is no more.
func Serve(memory int64, cpu time.Duration) error {
	out := bufio.NewWriterSize(os.Stdout, 64<<10)
	say := func(k kind, payload []byte) error {
		if err := send(out, k, payload, maxResponse); err != nil {
			return err
		}
		return out.Flush()
	}
	if err := confine.Enter(confine.Limits{Memory: memory, CPU: cpu}); err != nil {
		return errors.Join(err, say(kindFailed, []byte(err.Error())))
	}
	if err := say(kindReady, nil); err != nil {
		return err
	}
	c := &conversation{in: bufio.NewReaderSize(os.Stdin, 64<<10), say: say}
	for {
		k, payload, err := receive(c.in, maxRequest)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("reading a request: %w", err)
		}
		if err := c.answer(k, payload); err != nil {
			return err
		}
	}
}

// conversation is the child's end of the pipes.
type conversation struct {
	in  io.Reader
	say func(kind, []byte) error

	asking sync.Mutex // a question about a file and its answer belong together
}

func (c *conversation) answer(k kind, payload []byte) error {
	result, response, err := c.do(k, payload)
	var encoded []byte
	if err == nil {
		encoded, err = json.Marshal(response)
	}
	if err == nil && len(encoded) > maxResponse {
		err = fmt.Errorf("what it makes has %d bytes, at most %d are taken: use a smaller folder", len(encoded), maxResponse)
	}
	if err != nil {
		return c.say(kindFailed, []byte(err.Error()))
	}
	return c.say(result, encoded)
}

func (c *conversation) do(k kind, payload []byte) (kind, any, error) {
	switch k {
	case kindBuild:
		var request buildRequest
		if err := json.Unmarshal(payload, &request); err != nil {
			return 0, nil, fmt.Errorf("reading a request: %w", err)
		}
		fsys, err := unlist(request.Entries, request.Root, c.file)
		if err != nil {
			return 0, nil, err
		}
		// The deadline is the parent's: it kills.
		return kindBuilt, render.BuildFolder(context.Background(), fsys, request.Dir, request.Config), nil
	case kindRender:
		var request renderRequest
		if err := json.Unmarshal(payload, &request); err != nil {
			return 0, nil, fmt.Errorf("reading a request: %w", err)
		}
		var response rendered
		response.Rendered, response.Problems = render.Render(request.Cluster, request.Config, request.Pins)
		return kindRendered, response, nil
	default:
		return 0, nil, fmt.Errorf("a request of kind %q is not known", k)
	}
}

// file asks the parent about a file.
func (c *conversation) file(q fileQuestion) ([]byte, error) {
	c.asking.Lock()
	defer c.asking.Unlock()
	if err := c.say(kindFile, q.bytes()); err != nil {
		return nil, err
	}
	k, payload, err := receive(c.in, maxRequest)
	switch {
	case err != nil:
		return nil, err
	case k == kindNoFile:
		return nil, errors.New(string(payload))
	case k != kindContent:
		return nil, fmt.Errorf("an answer of kind %q is not known", k)
	}
	return payload, nil
}
