import type { DeliveryAttempt } from '@org/agent-messaging-core/storage'
import { expect, it } from 'vitest'
import { curlOf } from './delivery-page.js'

const attempt: DeliveryAttempt = {
  attemptNumber: 1,
  startedAt: 0,
  durationMs: 5,
  url: 'https://receiver.example/hook',
  outcome: { kind: 'accepted', statusCode: 200, responseBody: '' },
  requestHeaders: {
    'content-type': 'application/json',
    'webhook-id': 'evt_1',
    'webhook-signature': 'v1,c2VjcmV0',
    'x-api-key': '[redacted]',
  },
}

it('has the URL, the body and the headers, but no signature and no secret', () => {
  expect(curlOf(attempt, `{"text":"it's $HOME"}`)).toBe(
    [
      "curl -X POST 'https://receiver.example/hook'",
      "-H 'content-type: application/json'",
      "-H 'webhook-id: evt_1'",
      String.raw`--data-binary '{"text":"it'\''s $HOME"}'`,
    ].join(' \\\n  '),
  )
})

it('is missing for an attempt whose request is not stored', () => {
  const { url: _, ...without } = attempt
  expect(curlOf(without, '{}')).toBeUndefined()
})
