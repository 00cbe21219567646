package model

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"stevedore.dev/stevedore/internal/cratesim/allocation"
)

// repositoryParameter is a setting of a type of repository.
type repositoryParameter struct {
	name             string
	required, masked bool
	// from is the first minor that knows it, gone the first that does not any more; zero is
	// always.
	from, gone Version
}

func (p repositoryParameter) known(v Version) bool {
	return v.AtLeast(p.from.Major, p.from.Minor) && (p.gone == Version{} || !v.AtLeast(p.gone.Major, p.gone.Minor))
}

// repositoryType is a type and the first minor that has it.
type repositoryType struct {
	from       Version
	parameters []repositoryParameter
}

func minor(major, minor int) Version { return Version{Major: major, Minor: minor} }

func optional(names string) (out []repositoryParameter) {
	for name := range strings.FieldsSeq(names) {
		out = append(out, repositoryParameter{name: name})
	}
	return out
}

func since(from Version, names string) []repositoryParameter {
	out := optional(names)
	for i := range out {
		out[i].from = from
	}
	return out
}

func until(gone Version, names string) []repositoryParameter {
	out := optional(names)
	for i := range out {
		out[i].gone = gone
	}
	return out
}

func needed(names string) []repositoryParameter {
	out := optional(names)
	for i := range out {
		out[i].required = true
	}
	return out
}

func masked(list []repositoryParameter) []repositoryParameter {
	for i := range list {
		list[i].masked = true
	}
	return list
}

// every is what each type takes (TypeSettings.java).
const every = "max_restore_bytes_per_sec max_snapshot_bytes_per_sec "

// repositoryTypes are the types with what they take, as the repositories' optionalSettings
// and mandatorySettings have it, tags 4.8.4 to 6.4.3.
var repositoryTypes = map[string]repositoryType{
	"fs":  {parameters: slices.Concat(needed("location"), optional(every+"compress chunk_size readonly"))},
	"url": {parameters: slices.Concat(needed("url"), optional(every))},
	"s3": {parameters: slices.Concat(
		masked(optional("access_key secret_key")),
		optional(every+"base_path bucket buffer_size chunk_size compress server_side_encryption endpoint protocol max_retries use_throttle_retries readonly"),
		since(minor(5, 3), "storage_class"), since(minor(5, 7), "use_path_style_access"), since(minor(6, 3), "region"), until(minor(6, 3), "canned_acl"))},
	"azure": {parameters: slices.Concat(
		masked(needed("account")), []repositoryParameter{
			{name: "key", required: true, masked: true, gone: minor(5, 9)},
			{name: "key", masked: true, from: minor(5, 9)},
			{name: "sas_token", masked: true, from: minor(5, 9)},
			{name: "secondary_endpoint", from: minor(5, 5), gone: minor(6, 3)}},
		optional(every+"container base_path chunk_size readonly compress max_retries"), since(minor(5, 5), "endpoint"),
		until(minor(6, 3), "endpoint_suffix location_mode proxy_host proxy_port proxy_type timeout"))},
	"gcs": {from: minor(5, 7), parameters: slices.Concat(
		needed("bucket project_id"), masked(needed("private_key_id private_key client_id client_email")),
		optional(every+"chunk_size compress base_path endpoint connect_timeout read_timeout"), until(minor(6, 3), "token_uri"))},
}

func (t repositoryType) parameter(name string, v Version) *repositoryParameter {
	for i := range t.parameters {
		if p := &t.parameters[i]; p.name == name && p.known(v) {
			return p
		}
	}
	return nil
}

// typeOf is the type as the version has it.
func typeOf(typ string, v Version) (repositoryType, *Error) {
	t, ok := repositoryTypes[typ]
	if !ok || !v.AtLeast(t.from.Major, t.from.Minor) {
		return t, ErrIllegalArgument("Invalid repository type \"%s\"", typ)
	}
	return t, nil
}

// CheckRepository refuses a type or a setting that the version does not know, and a type
// without what it needs (RepositoryParamValidator).
func CheckRepository(v Version, typ string, settings map[string]string) *Error {
	t, err := typeOf(typ, v)
	if err != nil {
		return err
	}
	for _, name := range sortedKeys(settings) {
		if t.parameter(name, v) == nil {
			if !v.AtLeast(6, 4) {
				return errUnsupportedParameter(name)
			}
			return ErrIllegalArgument("Setting '%s' for '%s' repository is not supported", name, typ)
		}
	}
	var missing []string
	for _, p := range t.parameters {
		if _, has := settings[p.name]; p.required && p.known(v) && !has {
			missing = append(missing, p.name)
		}
	}
	if len(missing) > 0 {
		return ErrIllegalArgument("The following required parameters are missing to create a repository of type \"%s\": [%s]", typ, strings.Join(missing, ", "))
	}
	return nil
}

func errUnsupportedParameter(name string) *Error {
	return ErrIllegalArgument("Setting '%s' is not supported", name)
}

// checkChange refuses what ALTER REPOSITORY may not set or take off.
func checkChange(v Version, typ string, changes []Assignment) *Error {
	t, err := typeOf(typ, v)
	if err != nil {
		return err
	}
	var needed []string
	for _, ch := range changes {
		switch p := t.parameter(ch.Name, v); {
		case p == nil && ch.Value != nil:
			return errUnsupportedParameter(ch.Name)
		case p == nil:
			return ErrIllegalArgument("Setting '%s' for '%s' repository is not supported", ch.Name, typ)
		case ch.Value == nil && p.required:
			needed = append(needed, ch.Name)
		}
	}
	if len(needed) > 0 {
		return ErrIllegalArgument("The following required parameters are required for type \"%s\" and cannot be reset: [%s]", typ, strings.Join(needed, ", "))
	}
	return nil
}

// kinds are the settings that are no text, with their least and most values where they have any.
var repositoryKinds = map[string]struct{ kind, least, most string }{
	"compress": {"bool", "", ""}, "readonly": {"bool", "", ""}, "server_side_encryption": {"bool", "", ""},
	"use_throttle_retries": {"bool", "", ""}, "use_path_style_access": {"bool", "", ""},
	"max_retries": {"int", "", ""},
	"chunk_size":  {"bytes", "", ""}, "buffer_size": {"bytes", "5mb", ""},
	"max_snapshot_bytes_per_sec": {"bytes", "", ""}, "max_restore_bytes_per_sec": {"bytes", "", ""},
}

// checkValues is what a repository's constructor says of values (BlobStoreRepository,
// S3Repository, AzureRepository).
func (r *Repository) checkValues(v Version) *Error {
	fail := func(words string) *Error {
		if !v.AtLeast(6, 4) {
			return errRepository("", "["+r.Name+"] failed to create repository")
		}
		return errRepository("", "["+r.Name+"] failed to create repository: "+words)
	}
	for _, name := range sortedKeys(r.Settings) {
		k, value := repositoryKinds[name], r.Settings[name]
		if r.Type == "azure" && name == "chunk_size" {
			k.most = "256mb"
		}
		bytes, isBytes := allocation.ParseBytes(value)
		least, _ := allocation.ParseBytes(k.least)
		most, limited := allocation.ParseBytes(k.most)
		switch {
		case k.kind == "bool" && value != "true" && value != "false":
			return fail("Failed to parse value [" + value + "] as only [true] or [false] are allowed.")
		case k.kind == "int" && !digits(value):
			return fail("Failed to parse value [" + value + "] for setting [" + name + "]")
		case k.kind == "bytes" && !isBytes:
			return fail("failed to parse setting [" + name + "] with value [" + value + "] as a size in bytes")
		case k.kind == "bytes" && k.least != "" && bytes < least && bytes >= 0:
			return fail("failed to parse value [" + value + "] for setting [" + name + "], must be >= [" + k.least + "]")
		case k.kind == "bytes" && limited && k.most != "" && bytes > most:
			return fail("failed to parse value [" + value + "] for setting [" + name + "], must be <= [" + k.most + "]")
		}
	}
	return r.checkS3()
}

// checkS3: a part of an object is no larger than the object.
func (r *Repository) checkS3() *Error {
	if r.Type != "s3" {
		return nil
	}
	chunk, buffer := cmp.Or(r.Settings["chunk_size"], "1gb"), cmp.Or(r.Settings["buffer_size"], "100mb")
	if c, _ := allocation.ParseBytes(chunk); c > 0 {
		if b, _ := allocation.ParseBytes(buffer); c < b {
			return errRepository(r.Name, "chunk_size ("+chunk+") can't be lower than buffer_size ("+buffer+").")
		}
	}
	return nil
}

// digits reports whether the text is a number as Java's Integer.parseInt takes it.
func digits(text string) bool {
	_, err := strconv.ParseInt(text, 10, 32)
	return err == nil
}

// unusable is why a repository can be registered and not be used: its store is made when it
// is verified.
func (r *Repository) unusable(n *Node) *failure {
	s := r.Settings
	switch r.Type {
	case "azure":
		switch {
		case s["key"] == "" && s["sas_token"] == "":
			return &failure{class: "SettingsException", words: "Neither a secret key nor a shared access token was set."}
		case s["key"] != "" && s["sas_token"] != "":
			return &failure{class: "SettingsException", words: "Both a secret as well as a shared access token were set."}
		}
	case "url":
		path, isFile := strings.CutPrefix(s["url"], "file:")
		path = "/" + strings.TrimLeft(path, "/")
		if _, ok := n.repositoryPath(path); !isFile || !ok {
			url := s["url"]
			if isFile {
				url = "file:" + path
			}
			return &failure{class: "RepositoryException", words: "[" + r.Name + "] file url [" + url + "] doesn't match any of the locations specified by path.repo or repositories.url.allowed_urls"}
		}
	}
	return nil
}

// Shown are the settings as sys.repositories has them. Which names are masked is not asked
// by type.
func (r *Repository) Shown() map[string]string {
	out := map[string]string{}
	for name, value := range r.Settings {
		out[name] = value
		for _, t := range repositoryTypes {
			if slices.ContainsFunc(t.parameters, func(p repositoryParameter) bool { return p.masked && p.name == name }) {
				out[name] = "[xxxxx]"
			}
		}
	}
	return out
}

// place is where the repository's objects are: what is there outlives the repository and
// its cluster, and each cluster that names the same place finds the same objects.
func (r *Repository) place(n *Node) string {
	s := r.Settings
	switch r.Type {
	case "fs":
		path, _ := n.repositoryPath(s["location"])
		return "fs " + path
	case "url":
		return "fs /" + strings.Trim(strings.TrimPrefix(s["url"], "file:"), "/")
	case "s3":
		return strings.Join([]string{"s3", cmp.Or(s["endpoint"], "s3.amazonaws.com"), s["bucket"], strings.Trim(s["base_path"], "/")}, " ")
	case "azure":
		return strings.Join([]string{"azure", s["account"], s["endpoint"], cmp.Or(s["container"], "crate-snapshots"), strings.Trim(s["base_path"], "/")}, " ")
	}
	return strings.Join([]string{r.Type, s["endpoint"], s["bucket"], strings.Trim(s["base_path"], "/")}, " ")
}
