// Package s3 asks an S3 server for the objects of a repository, as CrateDB does through
// OpenDAL from 6.3 on: which requests, and what it makes of their answers.
package s3

import (
	"bytes"
	"cmp"
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"stevedore.dev/stevedore/internal/cratesim/model"
)

// patience is how long a request may take. CrateDB has no limit, but the simulator does nothing
// else meanwhile.
const patience = 3 * time.Second

// transport reaches no host of AWS: without an endpoint a repository is not to be reached, as on
// a machine without the internet. No proxy is asked.
var transport = &http.Transport{
	MaxIdleConnsPerHost: 2,
	IdleConnTimeout:     10 * time.Second,
	DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
		if host, _, _ := net.SplitHostPort(address); strings.HasSuffix(host, "amazonaws.com") {
			return nil, &net.DNSError{Err: "no such host", Name: host, IsNotFound: true}
		}
		return (&net.Dialer{}).DialContext(ctx, network, address)
	},
}

// store is a repository's part of a bucket.
type store struct {
	endpoint     string // with its protocol
	bucket, base string // the latter ends with a slash, or is ""
	path         bool   // the bucket is in the path, not in the name of the host
	region       string // "" as long as it is not known
	keys         keys
	retries      int
	client       *http.Client
}

// Servers opens the repositories of type s3.
type Servers struct{}

// Open gives the objects of a repository of type s3, nil for another type.
func (Servers) Open(typ string, settings map[string]string) model.Objects {
	if typ != "s3" {
		return nil
	}
	endpoint := cmp.Or(settings["endpoint"], "s3.amazonaws.com")
	if !strings.HasPrefix(endpoint, "http://") && !strings.HasPrefix(endpoint, "https://") {
		endpoint = cmp.Or(settings["protocol"], "https") + "://" + endpoint
	}
	base := strings.Trim(settings["base_path"], "/")
	if base != "" {
		base += "/"
	}
	retries, err := strconv.Atoi(settings["max_retries"])
	if err != nil {
		retries = 3
	}
	return &store{
		endpoint: strings.TrimRight(endpoint, "/"), bucket: settings["bucket"], base: base, path: settings["use_path_style_access"] != "false",
		region: settings["region"], keys: keys{settings["access_key"], settings["secret_key"]}, retries: retries, client: &http.Client{Timeout: patience, Transport: transport},
	}
}

// find finds the region out, if no setting says it (S3.getRegion). Without one nothing is asked.
func (s *store) find() error {
	if s.region != "" {
		return nil
	}
	if name, isAWS := strings.CutSuffix(strings.TrimPrefix(s.endpoint, "https://s3."), ".amazonaws.com"); isAWS && !strings.Contains(name, "/") {
		s.region = name
		return nil
	}
	unset := &model.Answer{Operation: "Builder::build", Unset: true, Why: "region is missing. Please find it by S3::detect_region() or set them in env."}
	request, err := http.NewRequest(http.MethodHead, s.endpoint+"/"+s.bucket, nil)
	if err != nil {
		return unset
	}
	response, err := s.client.Do(request)
	if err != nil {
		return unset
	}
	_ = response.Body.Close()
	s.region = response.Header.Get("x-amz-bucket-region")
	if s.region == "" && (response.StatusCode == http.StatusForbidden || response.StatusCode == http.StatusOK) {
		s.region = "us-east-1"
	}
	if s.region == "" {
		return unset
	}
	return nil
}

func (s *store) Read(name string) ([]byte, error) {
	return s.ask("read", http.MethodGet, s.base+name, nil, nil)
}

// Write asks first whether the object is there, where CrateDB does not overwrite one.
func (s *store) Write(name string, content []byte) error {
	if strings.HasPrefix(name, "tests-") || strings.HasPrefix(name, "index-") {
		exists, err := s.Exists(name)
		if err != nil {
			return err
		}
		if exists {
			return fmt.Errorf("%s%s: %w", s.base, name, fs.ErrExist)
		}
	}
	_, err := s.ask("write", http.MethodPut, s.base+name, nil, content)
	return err
}

func (s *store) Exists(name string) (bool, error) {
	_, err := s.ask("stat", http.MethodHead, s.base+name, nil, nil)
	var a *model.Answer
	if errors.As(err, &a) && a.Status == http.StatusNotFound {
		return false, nil
	}
	return err == nil, err
}

func (s *store) Remove(name string) error {
	_, err := s.ask("delete", http.MethodDelete, s.base+name, nil, nil)
	return err
}

// RemoveAll asks for each object by itself; OpenDAL asks for all at once.
func (s *store) RemoveAll(prefix string) error {
	names, err := s.list(s.base+prefix, url.Values{})
	for _, name := range names {
		err = errors.Join(err, s.Remove(strings.TrimPrefix(name, s.base)))
	}
	return err
}

func (s *store) List(prefix string) (out []string, err error) {
	query := url.Values{"delimiter": {"/"}}
	if prefix == "" {
		query = url.Values{}
	}
	names, err := s.list(s.base+prefix, query)
	for _, name := range names {
		out = append(out, strings.TrimPrefix(name, s.base))
	}
	slices.Sort(out)
	return out, err
}

// list asks until it has the whole list (ListObjectsV2).
func (s *store) list(prefix string, query url.Values) (names []string, err error) {
	query.Set("list-type", "2")
	query.Set("prefix", prefix)
	for {
		content, err := s.ask("list", http.MethodGet, prefix, query, nil)
		if err != nil {
			return nil, err
		}
		var page struct {
			Contents              []struct{ Key string }
			IsTruncated           bool
			NextContinuationToken string
		}
		if err := xml.Unmarshal(content, &page); err != nil {
			return nil, fmt.Errorf("read a list of S3: %w", err)
		}
		for _, each := range page.Contents {
			names = append(names, each.Key)
		}
		if !page.IsTruncated {
			return names, nil
		}
		query.Set("continuation-token", page.NextContinuationToken)
	}
}

// ask sends a request, and again, at once, if it may succeed the next time. CrateDB waits a
// second before the second time, and then twice as long each time. With a query the path is that
// of the bucket, else of the object.
func (s *store) ask(operation, method, object string, query url.Values, body []byte) (content []byte, err error) {
	if err := s.find(); err != nil {
		return nil, err
	}
	if s.keys.access == "" || s.keys.secret == "" {
		return nil, &model.Answer{Operation: operation, Path: object, Why: "no valid credential found and anonymous access is not allowed"}
	}
	for range s.retries + 1 {
		var again bool
		if content, again, err = s.send(operation, method, object, query, body); !again {
			break
		}
	}
	return content, err
}

func (s *store) send(operation, method, object string, query url.Values, body []byte) (content []byte, again bool, err error) {
	at := s.url(object, query)
	failed := &model.Answer{Operation: operation, URL: at, Path: object}
	request, err := http.NewRequestWithContext(context.Background(), method, at, bytes.NewReader(body))
	if err != nil {
		failed.Why = "builder error"
		return nil, false, failed
	}
	s.keys.sign(request, s.region, body, time.Now())
	response, err := s.client.Do(request)
	if err != nil {
		failed.Why = reason(err)
		return nil, true, failed
	}
	defer func() { _ = response.Body.Close() }()
	if content, err = io.ReadAll(response.Body); err != nil {
		failed.Why = reason(err)
		return nil, true, failed
	}
	if response.StatusCode < 300 {
		return content, false, nil
	}
	var said struct{ Code, Message string }
	_ = xml.Unmarshal(content, &said) // an answer without a body says nothing
	failed.Status, failed.Code, failed.Message = response.StatusCode, said.Code, said.Message
	return nil, response.StatusCode >= 500 || response.StatusCode == http.StatusTooManyRequests, failed
}

// url is that of an object, or of the bucket with a query.
func (s *store) url(object string, query url.Values) string {
	root := s.endpoint + "/" + s.bucket
	if !s.path {
		protocol, host, _ := strings.Cut(s.endpoint, "://")
		root = protocol + "://" + s.bucket + "." + host
	}
	if query != nil {
		return root + "?" + canonical(query)
	}
	return root + "/" + encoded(object, true)
}

// reason is why nobody answered, in the words of Rust.
func reason(err error) string {
	switch {
	case errors.Is(err, syscall.ECONNREFUSED):
		return "client error (Connect): tcp connect error: Connection refused (os error 111)"
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, syscall.ECONNRESET):
		return "client error (SendRequest): connection closed before message completed"
	case errors.Is(err, context.DeadlineExceeded):
		return "operation timed out"
	}
	return "client error (Connect): dns error: failed to lookup address information: Name or service not known"
}
