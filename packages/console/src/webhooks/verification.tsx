import { CopyButton } from '../parts/parts.js'

/** Checks of a request that our tests run. Each gets the raw bytes of the body. */
export const VERIFICATION = {
  TypeScript: `import { Webhook } from 'standardwebhooks' // npm install standardwebhooks

const webhook = new Webhook(process.env['WEBHOOK_SECRET'] ?? '')

/** Throws if the sender does not know the secret, or signed more than five minutes ago. */
export const verify = (rawBody: string | Buffer, headers: Record<string, string>) =>
  webhook.verify(rawBody, headers)
`,
  Python: `import os
from standardwebhooks import Webhook  # pip install standardwebhooks

webhook = Webhook(os.environ["WEBHOOK_SECRET"])


def verify(raw_body, headers):
    """Raises if the sender does not know the secret, or signed more than five minutes ago."""
    return webhook.verify(raw_body, dict(headers))
`,
  Go: `package main

import (
	"net/http"
	"os"

	// go get github.com/standard-webhooks/standard-webhooks/libraries@v0.0.1
	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
)

// verify fails if the sender does not know the secret, or signed more than five minutes ago.
func verify(rawBody []byte, headers http.Header) error {
	webhook, err := standardwebhooks.NewWebhook(os.Getenv("WEBHOOK_SECRET"))
	if err != nil {
		return err
	}
	return webhook.Verify(rawBody, headers)
}
`,
  PHP: `<?php
// False if the sender does not know the secret, or signed more than five minutes ago.
function verify(string $rawBody, array $headers): bool
{
    $secret = getenv('WEBHOOK_SECRET');
    if (!preg_match('/^whsec_[A-Za-z0-9+\\/]{32,}=*$/', $secret)) throw new Exception('WEBHOOK_SECRET');
    $id = $headers['webhook-id'] ?? '';
    $time = $headers['webhook-timestamp'] ?? '';
    $key = base64_decode(substr($secret, strlen('whsec_')));
    $expected = 'v1,' . base64_encode(hash_hmac('sha256', "$id.$time.$rawBody", $key, true));
    foreach (explode(' ', $headers['webhook-signature'] ?? '') as $signature)
        if (hash_equals($expected, $signature)) return abs(time() - (int) $time) <= 300;
    return false;
}
// verify(file_get_contents('php://input'), array_change_key_case(getallheaders()))
`,
} as const

/** Shows how a receiver verifies a request, in some languages. */
export const Verification = () => (
  <>
    <p>
      Each request has a signature. Your receiver checks the signature of the raw body with the
      secret, and refuses other requests.
    </p>
    {Object.entries(VERIFICATION).map(([language, code]) => (
      <details name="verification">
        <summary>{language}</summary>
        <div class="code">
          <pre tabindex={0}>{code}</pre>
          <CopyButton text={code} what={`${language} code`} />
        </div>
      </details>
    ))}
  </>
)
