import { BASE } from '../path.js'
import type { Instant, MessagingService } from '@org/agent-messaging-core'
import type { Crypto } from '@org/agent-messaging-core/runtime'
import { Hono } from 'hono'
import { catchWebhook, type CaughtWebhook } from './catch-webhook.js'

export type CaughtRequest = CaughtWebhook & { readonly at: Instant; readonly status: number }

/** The response of the catcher. */
export type CatcherResponse = { readonly status: number; readonly delayMs: number }

/**
 * A receiver of webhooks for tests, one for each project. Keeps the newest 50 requests in memory,
 * and the first 16 KiB of each. Its secret is derived from the master key, so a restart keeps the
 * secret.
 */
export type Catcher = {
  readonly routes: Hono
  pathOf(projectId: string): string
  secretOf(projectId: string): string
  /** Returns the kept requests, newest first. */
  requestsOf(projectId: string): readonly CaughtRequest[]
  responseOf(projectId: string): CatcherResponse
  setResponse(projectId: string, response: CatcherResponse): void
  clear(projectId: string): void
}

type Options = { readonly service: MessagingService; readonly crypto: Crypto }

const MAX_REQUESTS = 50
const MAX_PROJECTS = 20
const KEPT_LENGTH = 16 * 1024
const UUID_LENGTH = 36

export function createCatcher({ service, crypto }: Options): Catcher {
  const requests = new Map<string, CaughtRequest[]>()
  const responses = new Map<string, CatcherResponse>()
  const secretOf = (projectId: string) =>
    `whsec_${Buffer.from(crypto.mac('console/catcher', projectId), 'base64url').toString('base64')}`
  const responseOf = (projectId: string): CatcherResponse =>
    responses.get(projectId) ?? { status: 200, delayMs: 0 }
  const pathOf = (projectId: string) =>
    `${BASE}/catch/${projectId}-${crypto.mac('console/catcher-path', projectId).slice(0, 16)}`

  function keep(projectId: string, request: CaughtRequest) {
    const kept = requests.get(projectId) ?? []
    requests.set(projectId, [request, ...kept].slice(0, MAX_REQUESTS))
    const [oldest] = requests.keys()
    if (requests.size > MAX_PROJECTS && oldest !== undefined) requests.delete(oldest)
  }

  // The end of the path is derived from the master key. A sender who does not know the path cannot
  // fill the memory of a project.
  const routes = new Hono().post('/catch/:place', async (c) => {
    const projectId = c.req.param('place').slice(0, UUID_LENGTH)
    if (!crypto.equal(pathOf(projectId), c.req.path)) return c.notFound()
    const caught = await catchWebhook(c.req.raw, secretOf(projectId), service.host.now)
    const { status, delayMs } =
      caught.signature === 'too long' ? { status: 413, delayMs: 0 } : responseOf(projectId)
    const body = beginningOf(caught.body)
    keep(projectId, { ...caught, at: service.host.now(), status, body })
    if (delayMs > 0) await new Promise((resolve) => setTimeout(resolve, delayMs))
    return c.body(null, status as 200)
  })

  return {
    routes,
    pathOf,
    secretOf,
    requestsOf: (projectId) => requests.get(projectId) ?? [],
    responseOf,
    setResponse: (projectId, response) => void responses.set(projectId, response),
    clear: (projectId) => void requests.delete(projectId),
  }
}

/** Copies the beginning. A slice alone would keep the whole body in memory. */
const beginningOf = (body: string) => Buffer.from(body.slice(0, KEPT_LENGTH)).toString()
