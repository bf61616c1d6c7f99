import { expect } from 'vitest'
import { until, type RealServer } from '../e2e/real-server.js'

export type Kind = 'webhook' | 'agent'

let names = 0

function register(
  server: RealServer,
  kind: Kind,
  url: string,
  timeoutMs?: number,
): Promise<Response> {
  // This event does not occur here, so the webhook receives only test events.
  if (kind === 'webhook')
    return server.api('POST', '/v1/webhooks', { url, events: ['webhook.disabled'], timeoutMs })
  const runtime = { kind: 'http', url, timeoutMs: timeoutMs ?? 3_000 }
  return server.api('POST', '/v1/agents', {
    name: `remote-${++names}`,
    runtime,
    desiredState: 'running',
    maxAttempts: 1,
  })
}

/** Returns the status of a registration, and deletes its result to stay below the limits. */
export async function registering(server: RealServer, kind: Kind, url: string): Promise<number> {
  const answer = await register(server, kind, url)
  const { id } = (await answer.json()) as { id?: string }
  if (id !== undefined) await server.api('DELETE', `/v1/${kind}s/${id}`)
  return answer.status
}

/** Registers the URL and returns the id. */
export async function registered(
  server: RealServer,
  kind: Kind,
  url: string,
  timeoutMs?: number,
): Promise<string> {
  const answer = await register(server, kind, url, timeoutMs)
  const body = (await answer.json()) as { id: string }
  expect(answer.status, JSON.stringify(body)).toBe(201)
  return body.id
}

type Delivery = {
  readonly id: string
  readonly status: string
  readonly nextAttemptAt?: string
  readonly attempts: readonly Attempt[]
}
export type Attempt = {
  readonly outcome: string
  readonly startedAt: string
  readonly durationMs: number
}

/** Sends a test event and returns its delivery after the first attempt. */
export async function deliveryAt(server: RealServer, webhookId: string): Promise<Delivery> {
  const { id } = (await (
    await server.api('POST', `/v1/webhooks/${webhookId}/test`)
  ).json()) as Delivery
  let delivery: Delivery | undefined
  const isAttempted = async () => {
    delivery = (await (await server.api('GET', `/v1/deliveries/${id}`)).json()) as Delivery
    return delivery.attempts.length > 0
  }
  expect(await until(isAttempted)).toBe(true)
  return delivery as Delivery
}

/** Sends a test event and returns its first attempt. */
export const attemptAt = async (
  server: RealServer,
  webhookId: string,
): Promise<Attempt | undefined> => (await deliveryAt(server, webhookId)).attempts[0]

/** Returns the status of a change to this URL. */
export async function moving(
  server: RealServer,
  kind: Kind,
  id: string,
  url: string,
): Promise<number> {
  return (
    await server.api(
      'PATCH',
      `/v1/${kind}s/${id}`,
      kind === 'webhook' ? { url } : { runtime: { kind: 'http', url } },
    )
  ).status
}

let sessions = 0

/** Sends a message to the agent and returns the message after its only run. */
export async function runOf(server: RealServer, agentId: string): Promise<unknown> {
  const messages = `/v1/agents/${agentId}/messages`
  const sent = await server.api('POST', messages, { sessionId: `s${++sessions}`, message: 'hello' })
  if (!sent.ok) throw new Error(`the send was answered with ${sent.status}: ${await sent.text()}`)
  const { messageId } = (await sent.json()) as { messageId: string }
  return (await server.api('GET', `${messages}/${messageId}`)).json()
}
