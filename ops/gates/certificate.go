package gates

// Untrusted are the words by which a reading's error says that a login did not get
// as far as the password.
const Untrusted = "the certificate of the node is not trusted"

// CertificateRule is the rule certificate-not-trusted.
var CertificateRule = Rule{
	Name:   "certificate-not-trusted",
	Kind:   Waits,
	Says:   "With `--database-ca-file` each node's certificate has to be of that authority, in date and for the name `crate-CLUSTER.NAMESPACE.svc`; before it is, no password is sent and nothing is decided that depends on the database.",
	Do:     "Look at the certificate: `openssl s_client -starttls postgres -connect POD:5432 -showcerts`. Give the keystore a chain of that authority with the name as a subjectAltName, or the daemon the authority that signed it.",
	Source: "docs/install.md, TLS to the databases",
}
