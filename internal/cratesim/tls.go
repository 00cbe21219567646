package cratesim

import (
	"crypto/tls"
	"errors"
	"os"
	"regexp"
	"strings"

	"stevedore.dev/stevedore/internal/keystore"
)

// placeholder in a value is taken from the environment, as CrateDB's manual has it.
var placeholder = regexp.MustCompile(`\$\{([^}]+)\}`)

func (cfg NodeConfig) resolve(settings map[string]string) error {
	for name, value := range settings {
		missing := ""
		settings[name] = placeholder.ReplaceAllStringFunc(value, func(found string) string {
			variable := found[2 : len(found)-1]
			for _, each := range cfg.Env {
				if value, ok := strings.CutPrefix(each, variable+"="); ok {
					return value
				}
			}
			missing = variable
			return found
		})
		if missing != "" {
			return refused("java.lang.IllegalArgumentException: Could not resolve placeholder '%s'", missing)
		}
	}
	return nil
}

// serverTLS are what HTTP and the PostgreSQL protocol are served with; nil where
// the setting is off.
func serverTLS(settings map[string]string) (http, psql *tls.Config, err error) {
	on := func(name string) bool { return settings[name] == "true" }
	if !on("ssl.http.enabled") && !on("ssl.psql.enabled") {
		return nil, nil, nil
	}
	file, err := os.ReadFile(settings["ssl.keystore_filepath"])
	if err != nil {
		return nil, nil, refused("java.lang.RuntimeException: Failed to build SSL configuration: %s", err)
	}
	password := settings["ssl.keystore_password"]
	keyPassword := settings["ssl.keystore_key_password"]
	if keyPassword == "" {
		keyPassword = password
	}
	certificate, err := keystore.Decode(file, password, keyPassword)
	if errors.Is(err, keystore.ErrPassword) {
		return nil, nil, refused("java.lang.RuntimeException: Failed to build SSL configuration: Keystore was tampered with, or password was incorrect")
	}
	if err != nil {
		return nil, nil, refused("the CrateDB simulator takes keystores of the format JKS only, the real one PKCS12 too: %s", err)
	}
	config := &tls.Config{Certificates: []tls.Certificate{certificate}, MinVersion: tls.VersionTLS12}
	if on("ssl.http.enabled") {
		http = config
	}
	if on("ssl.psql.enabled") {
		psql = config
	}
	return http, psql, nil
}
