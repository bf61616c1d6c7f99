import { type Instant, type MessagingService } from '@org/agent-messaging-core'
import { signatureHeaders, type Crypto } from '@org/agent-messaging-core/runtime'
import { Hono } from 'hono'
import { bodyLimit } from 'hono/body-limit'
import { BASE } from './options.js'

/** `unknown`: no signature came with it, so it is from somebody else. */
export type WebhookUpdate = 'valid' | 'wrong' | 'unsigned'

export type Caught = {
  readonly at: Instant
  readonly event: string
  readonly deliveryId: string
  readonly verdict: WebhookUpdate
  readonly status: number
  readonly body: string
}

export type Answering = { readonly status: number; readonly delayMs: number }

/**
 * A receiver of our own, one for each project, that keeps what it gets in memory: the newest fifty, and of each the first 16 KiB.
 * Its secret is made of the master key, so that it knows it after every start.
 */
export type Catcher = {
  readonly routes: Hono
  pathOf(projectId: string): string
  secretOf(projectId: string): string
  /** Newest first. */
  caughtBy(projectId: string): readonly Caught[]
  answering(projectId: string): Answering
  answer(projectId: string, answering: Answering): void
  clear(projectId: string): void
}

type Options = { readonly service: MessagingService; readonly crypto: Crypto }

const MOST_KEPT = 50
const MOST_PROJECTS = 20
const KEPT_LENGTH = 16 * 1024
/** More than the service ever sends: an answer of a million characters has six million bytes as JSON, at most. */
const MAX_BODY_BYTES = 8 * 1024 * 1024

export function createCatcher({ service, crypto }: Options): Catcher {
  const caught = new Map<string, Caught[]>()
  const answers = new Map<string, Answering>()
  const secretOf = (projectId: string): string =>
    `whsec_${Buffer.from(crypto.mac('console/catcher', projectId), 'base64url').toString('base64')}`
  const answering = (projectId: string): Answering =>
    answers.get(projectId) ?? { status: 200, delayMs: 0 }
  const pathOf = (projectId: string): string =>
    `${BASE}/catch/${projectId}-${crypto.mac('console/catcher-path', projectId).slice(0, 16)}`

  function keep(projectId: string, one: Caught): void {
    const kept = caught.get(projectId) ?? []
    caught.set(projectId, [one, ...kept].slice(0, MOST_KEPT))
    const [oldest] = caught.keys()
    if (caught.size > MOST_PROJECTS && oldest !== undefined) caught.delete(oldest)
  }

  // The end of the path is made of the master key: nobody fills the memory of a project whose address was not given to them.
  const routes = new Hono().post(
    `${BASE}/catch/:place`,
    bodyLimit({ maxSize: MAX_BODY_BYTES }),
    async (c) => {
      const projectId = c.req.param('place').slice(0, UUID_LENGTH)
      if (!crypto.equal(pathOf(projectId), c.req.path)) return c.notFound()
      const body = await c.req.text()
      const { status, delayMs } = answering(projectId)
      const { verdict, event, deliveryId } = judge(
        crypto,
        service.policy.headerPrefix,
        c.req.raw.headers,
        body,
        secretOf(projectId),
      )
      keep(projectId, {
        at: service.now(),
        event,
        deliveryId,
        verdict,
        status,
        body: beginningOf(body),
      })
      if (delayMs > 0) await new Promise((resolve) => setTimeout(resolve, delayMs))
      return c.body(null, status as 200)
    },
  )

  return {
    routes,
    ...{ pathOf, secretOf, answering },
    caughtBy: (projectId) => caught.get(projectId) ?? [],
    answer: (projectId, wanted) => void answers.set(projectId, wanted),
    clear: (projectId) => void caught.delete(projectId),
  }
}

const UUID_LENGTH = 36

/** A copy: a slice alone would hold all of what it is a part of in memory. */
const beginningOf = (body: string): string => Buffer.from(body.slice(0, KEPT_LENGTH)).toString()

/** Makes both signatures anew, over the body as it came, and compares: what any receiver should do. */
function judge(
  crypto: Crypto,
  headerPrefix: string,
  headers: Headers,
  body: string,
  secret: string,
) {
  const given = (name: string): string => headers.get(name) ?? ''
  const id = given('webhook-id')
  const event = given(`${headerPrefix}-Event`)
  const at = Number(given('webhook-timestamp')) * 1_000
  const expected = signatureHeaders(crypto.hmacSha256, {
    id,
    event,
    body,
    secret,
    at,
    headerPrefix,
  })
  const own = `${headerPrefix}-Signature`
  const isSigned = given(own) !== '' || given('webhook-signature') !== ''
  const standard = given('webhook-signature').split(' ')
  const isGood =
    crypto.equal(given(own), expected[own] ?? '') &&
    standard.some((one) => crypto.equal(one, expected['webhook-signature'] ?? ''))
  const verdict: WebhookUpdate = isSigned ? (isGood ? 'valid' : 'wrong') : 'unsigned'
  return { verdict, event: event || '(none)', deliveryId: id }
}
