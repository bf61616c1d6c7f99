import { createHmac } from 'node:crypto'

/** Returns true if both signatures of a request are valid. */
export type Verify = (
  secret: string,
  headers: Readonly<Record<string, string>>,
  body: string,
) => boolean

/** Implements the signatures of webhooks again, because the product's code could have a bug. */
export const verifySignatures: Verify = (secret, headers, body) => {
  const own = `sha256=${createHmac('sha256', secret).update(body).digest('hex')}`
  const standardKey = Buffer.from(secret.slice('whsec_'.length), 'base64')
  const signed = `${headers['webhook-id']}.${headers['webhook-timestamp']}.${body}`
  const standard = `v1,${createHmac('sha256', standardKey).update(signed).digest('base64')}`
  return (
    headers['x-service-signature'] === own &&
    (headers['webhook-signature'] ?? '').split(' ').includes(standard)
  )
}
