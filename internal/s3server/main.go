// Command stevedore-s3 is an S3 server for tests, in memory. It checks signatures of version
// 4, and does wrong what its control address is told.
//
//	stevedore-s3 -listen 127.0.0.1:0 -access-key K -secret-key S -bucket backups
//
// It prints two lines: `s3 ADDRESS`, where clients ask, and `control ADDRESS`. At the latter:
//
//	POST /keys      {"access": "K", "secret": "S"}     the only keys that are good from now on
//	POST /faults    [{"status": 503, "code": "SlowDown", …}]   what it does wrong from now on
//	POST /listening {"listening": false}               nobody listens at the s3 address any more
//	POST /bucket    {"name": "b"}                       makes one
//	GET  /objects?bucket=b                             the names of its objects
//	GET  /requests                                     what was asked since the last time
//
// It ends with its standard input, so that no test leaves it behind.
package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"
)

// fault is one thing that the server does wrong. The first that a request fits applies.
type fault struct {
	// Method and Path choose requests: Path is a part of the path with its query. "" is each.
	Method, Path string
	// Times is how many requests it is for; 0 is all.
	Times int
	// Delay is how long the server waits before it goes on.
	Delay string
	// Cut closes the connection without an answer.
	Cut bool
	// Status and Code are those of the answer; 0: the request is served.
	Status int
	Code   string
}

type server struct {
	address string
	served  http.Handler
	backend *s3mem.Backend

	mu       sync.Mutex
	keys     keys
	faults   []fault
	requests []string
	running  *http.Server
}

func main() {
	listen := flag.String("listen", "127.0.0.1:0", "address of the S3 server")
	var k keys
	flag.StringVar(&k.Access, "access-key", "", "the access key that is good")
	flag.StringVar(&k.Secret, "secret-key", "", "its secret key")
	buckets := flag.String("bucket", "", "buckets that it has from the start, with commas between them")
	flag.Parse()
	if err := run(*listen, k, strings.FieldsFunc(*buckets, func(r rune) bool { return r == ',' })); err != nil {
		log.Fatal(err)
	}
}

func run(listen string, k keys, buckets []string) error {
	backend := s3mem.New()
	for _, b := range buckets {
		if err := backend.CreateBucket(b); err != nil {
			return fmt.Errorf("make the bucket %s: %w", b, err)
		}
	}
	s := &server{address: listen, backend: backend, keys: k, served: gofakes3.New(backend, gofakes3.WithLogger(gofakes3.DiscardLog())).Server()}
	if err := s.listen(); err != nil {
		return err
	}
	control, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return fmt.Errorf("listen for control: %w", err)
	}
	fmt.Printf("s3 %s\ncontrol %s\n", s.address, control.Addr())
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(0)
	}()
	return http.Serve(control, s.control())
}

// listen begins to serve, at the address that it had before.
func (s *server) listen() error {
	l, err := net.Listen("tcp", s.address)
	if err != nil {
		return fmt.Errorf("listen: %w", err)
	}
	s.address, s.running = l.Addr().String(), &http.Server{Handler: s}
	go func(h *http.Server) { _ = h.Serve(l) }(s.running)
	return nil
}

func (s *server) control() http.Handler {
	mux := http.NewServeMux()
	on := func(pattern string, do func(r *http.Request) (any, error)) {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
			s.mu.Lock()
			defer s.mu.Unlock()
			answer, err := do(r)
			if err != nil {
				http.Error(w, err.Error(), http.StatusBadRequest)
				return
			}
			_ = json.NewEncoder(w).Encode(answer)
		})
	}
	on("POST /keys", func(r *http.Request) (any, error) {
		s.keys = keys{}
		return nil, json.NewDecoder(r.Body).Decode(&s.keys)
	})
	on("POST /faults", func(r *http.Request) (any, error) {
		s.faults = nil
		return nil, json.NewDecoder(r.Body).Decode(&s.faults)
	})
	on("POST /listening", func(r *http.Request) (any, error) {
		var to struct{ Listening bool }
		err := json.NewDecoder(r.Body).Decode(&to)
		switch {
		case err == nil && to.Listening && s.running == nil:
			err = s.listen()
		case err == nil && !to.Listening && s.running != nil:
			err, s.running = s.running.Close(), nil
		}
		return nil, err
	})
	on("POST /bucket", func(r *http.Request) (any, error) {
		var b struct{ Name string }
		return nil, errors.Join(json.NewDecoder(r.Body).Decode(&b), s.backend.CreateBucket(b.Name))
	})
	on("GET /objects", func(r *http.Request) (any, error) {
		list, err := s.backend.ListBucket(r.URL.Query().Get("bucket"), nil, gofakes3.ListBucketPage{})
		if err != nil {
			return nil, err
		}
		names := []string{}
		for _, o := range list.Contents {
			names = append(names, o.Key)
		}
		return names, nil
	})
	on("GET /requests", func(*http.Request) (any, error) {
		all := append([]string{}, s.requests...)
		s.requests = nil
		return all, nil
	})
	return mux
}

// ServeHTTP serves a request of a client: first what is to go wrong, then who asks, then what.
func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	asked := r.Method + " " + r.URL.RequestURI()
	s.mu.Lock()
	s.requests = append(s.requests, asked)
	f, k := s.fault(r), s.keys
	s.mu.Unlock()
	if wait, err := time.ParseDuration(f.Delay); err == nil {
		select {
		case <-time.After(wait):
		case <-r.Context().Done():
			return
		}
	}
	if f.Cut {
		if c, _, err := http.NewResponseController(w).Hijack(); err == nil {
			_ = c.Close()
		}
		return
	}
	if f.Status != 0 {
		refuse(w, r, f.Status, f.Code, messages[f.Code])
		return
	}
	if code := k.check(r); code != "" {
		refuse(w, r, http.StatusForbidden, code, messages[code])
		return
	}
	s.served.ServeHTTP(w, r)
}

// fault is what applies to the request; the zero value is nothing. s.mu is held.
func (s *server) fault(r *http.Request) fault {
	at := slices.IndexFunc(s.faults, func(f fault) bool {
		return (f.Method == "" || f.Method == r.Method) && strings.Contains(r.URL.RequestURI(), f.Path)
	})
	if at < 0 {
		return fault{}
	}
	f := s.faults[at]
	switch f.Times {
	case 0:
	case 1:
		s.faults = slices.Delete(s.faults, at, at+1)
	default:
		s.faults[at].Times--
	}
	return f
}

// messages are AWS's.
var messages = map[string]string{
	"AccessDenied":          "Access Denied",
	"InvalidAccessKeyId":    "The AWS Access Key Id you provided does not exist in our records.",
	"SignatureDoesNotMatch": "The request signature we calculated does not match the signature you provided. Check your key and signing method.",
	"SlowDown":              "Please reduce your request rate.",
	"InternalError":         "We encountered an internal error. Please try again.",
}

// refuse answers as S3 does.
func refuse(w http.ResponseWriter, r *http.Request, status int, code, message string) {
	w.Header().Set("Content-Type", "application/xml")
	w.WriteHeader(status)
	if r.Method != http.MethodHead {
		_, _ = fmt.Fprintf(w, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<Error><Code>%s</Code><Message>%s</Message><RequestId>1</RequestId></Error>", code, message)
	}
}
