package model

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"strings"
)

// Remote opens repositories that are on servers.
type Remote interface {
	// Open gives the objects of one, nil where they are in the model's Store.
	Open(typ string, settings map[string]string) Objects
}

// Objects are those of one repository that is on a server.
//
// Errors are an *Answer, or fs.ErrExist of a list or of a file of a verification that is there
// already: CrateDB overwrites neither.
type Objects interface {
	Read(name string) ([]byte, error)
	Write(name string, content []byte) error
	// Exists is a question without an answer in words.
	Exists(name string) (bool, error)
	Remove(name string) error
	// RemoveAll takes away what begins with the prefix.
	RemoveAll(prefix string) error
	// List gives the names that begin with prefix, in their order: all of the repository for
	// "", else those at its top.
	List(prefix string) ([]string, error)
}

// Answer is why a server of objects has not done what it was asked for.
type Answer struct {
	// Operation is OpenDAL's word: stat, read, write, list, delete.
	Operation string
	// URL is what was asked, Path the object's name in its bucket.
	URL, Path string
	// Status is the answer's; 0: there was none, for Why.
	Status int
	// Service is OpenDAL's word for the type of the repository; "" is s3.
	Service string
	// Code and Message are S3's; "" for an answer without a body.
	Code, Message string
	// Why is OpenDAL's reason where nobody answered or nobody was asked.
	Why string
	// Unset: the repository lacks a setting without which nobody is asked.
	Unset bool
}

func (a *Answer) Error() string { return a.words() }

func (a *Answer) service() string { return cmp.Or(a.Service, "s3") }

// kind is what OpenDAL calls the answer. What may be otherwise the next time was asked for
// again, and is persistent then.
func (a *Answer) kind() string {
	switch {
	case a.Unset:
		return "ConfigInvalid (permanent)"
	case a.Code == "NoSuchBucket":
		return "ConfigInvalid (persistent)"
	case a.Status == 403, a.Status == 0 && a.URL == "":
		return "PermissionDenied (persistent)"
	case a.Status == 404:
		return "NotFound (persistent)"
	case a.Status == 429, a.Status == 503:
		return "RateLimited (persistent)"
	}
	return "Unexpected (persistent)"
}

// words are those of OpenDAL, through which CrateDB asks from 6.3 on (run on 6.4.3 with the
// Java binding 0.48.2). It leaves out the headers of the answer, and the backtrace.
func (a *Answer) words() string {
	said := ""
	if a.Code != "" {
		said = fmt.Sprintf(" => S3Error { code: \"%s\", message: \"%s\", resource: \"\", request_id: \"\" }", a.Code, a.Message)
	}
	response := fmt.Sprintf("Parts { status: %d, version: HTTP/1.1, headers: {} }", a.Status)
	switch {
	case a.Unset:
		return a.kind() + " at " + a.Operation + " => " + a.Why + "\n\nContext:\n   service: " + a.service() + "\n"
	case a.URL == "":
		return a.kind() + " at " + a.Operation + " => " + a.Why + "\n\nContext:\n   service: " + a.service() + "\n   path: " + a.Path + "\n"
	case a.Status == 0:
		return a.kind() + " at " + a.Operation + " => send http request\n\nContext:\n   url: " + a.URL + "\n   called: http_util::Client::send\n   service: " + a.service() + "\n   path: " + a.Path +
			"\n\nSource:\n   error sending request for url (" + a.URL + "): " + a.Why + "\n"
	case a.Operation == "read":
		return "Unexpected (permanent) at  => " + a.kind() + " at read, context: { uri: " + a.URL + ", response: " + response + ", service: " + a.service() + ", path: " + a.Path + ", range: 0- }" + said + "\n"
	}
	return a.kind() + " at " + a.Operation + said + "\n\nContext:\n   uri: " + a.URL + "\n   response: " + response + "\n   service: " + a.service() + "\n   path: " + a.Path + "\n"
}

// failureOfAnswer is what a server has said, in Java's words.
func failureOfAnswer(err error) *failure {
	var a *Answer
	switch {
	case err == nil:
		return nil
	case errors.As(err, &a):
		return &failure{class: "OpenDALException", words: a.words(), absent: a.Status == 404 && a.Code != "NoSuchBucket"}
	case errors.Is(err, fs.ErrExist):
		return &failure{class: "FileAlreadyExistsException", words: err.Error()}
	}
	return &failure{class: "OpenDALException", words: "Unexpected (persistent) => " + err.Error()}
}

// denied is the answer of a place that has a fault, as if its server had given it.
func (r *Repository) denied(status int, name string) *failure {
	codes := map[int][2]string{
		403: {"AccessDenied", "Access Denied"},
		404: {"NoSuchBucket", "The specified bucket does not exist"},
		503: {"SlowDown", "Please reduce your request rate."},
	}
	code, known := codes[status]
	if !known {
		code = [2]string{"InternalError", "We encountered an internal error. Please try again."}
	}
	service, place, _ := strings.Cut(r.at, " ")
	return failureOfAnswer(&Answer{Operation: "write", Service: service, URL: "https://" + strings.ReplaceAll(place, " ", "/") + "/" + name, Path: name, Status: status, Code: code[0], Message: code[1]})
}

// errAsked is a request of the repository that failed where CrateDB expects errors of files
// only: the client's error comes through as it is. nil is one that it expects.
func errAsked(failed *failure) *Error {
	if failed == nil || failed.class != "OpenDALException" {
		return nil
	}
	return errorOf(failed.class, "XX000", 500, 5000, "%s", failed.words)
}
