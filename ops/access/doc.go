// Package access holds who may log in: the user `system`, the users of the definition, the
// licence, and the Secrets that they come from.
package access
