// kstatus says what tools that know nothing of a kind make of an object: JSON objects in on stdin, one after another; on
// stdout one line of JSON for each, with the status that kstatus computes and its message. Exit code 1 when an object
// can't be read or judged.
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/cli-utils/pkg/kstatus/status"
)

type verdict struct {
	Status  string `json:"status"`
	Message string `json:"message"`
}

func judge(in io.Reader, out io.Writer) error {
	// The API server's own decoder keeps whole numbers whole, as the library wants them.
	decoder, encoder := json.NewDecoder(in), json.NewEncoder(out)
	for {
		var raw json.RawMessage
		if err := decoder.Decode(&raw); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		object := &unstructured.Unstructured{}
		if err := object.UnmarshalJSON(raw); err != nil {
			return err
		}
		result, err := status.Compute(object)
		if err != nil {
			return err
		}
		if err := encoder.Encode(verdict{result.Status.String(), result.Message}); err != nil {
			return err
		}
	}
}

func main() {
	if err := judge(os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "kstatus:", err)
		os.Exit(1)
	}
}
