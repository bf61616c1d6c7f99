import { isStorableText, isUuid } from '@org/agent-messaging-core/runtime'
import { isAgentName, isPermitted, isRead, type CallName } from '@org/agent-messaging-core/host'
import type { Context } from 'hono'
import type { PageRequest } from '../context.js'

export const PAGE_LENGTH = 25
/** Rows of a file that are read together. */
const SHEET_LENGTH = 100
/** No row has this id. An illegal id is replaced by it, so that no odd text reaches a store. */
const UNUSED_ID = '00000000-0000-0000-0000-000000000000'

/** The fields of a form or of a query. */
export type Form = Readonly<Record<string, unknown>>

/** Returns a field as text with plain line ends. An absent field or a file gives an empty text. */
export function textIn(form: Form, name: string) {
  const value = form[name]
  return typeof value === 'string' ? value.replaceAll('\r\n', '\n') : ''
}

/** Returns the page that the address names. An illegal cursor gives the first page. */
export function pageOf(c: PageRequest) {
  const cursor = c.req.query('cursor')
  return {
    limit: c.env.sheet ? SHEET_LENGTH : PAGE_LENGTH,
    ...(cursor !== undefined && isUuid(cursor) && { cursor: cursor.toLowerCase() }),
  }
}

export const idIn = (segment = '') => (isUuid(segment) ? segment.toLowerCase() : UNUSED_ID)

/** Returns an agent's name or id. */
export const agentIn = (segment = '') => (isAgentName(segment) ? segment : idIn(segment))

/**
 * Returns the session that the address names. An illegal name gives an empty one: no row has that.
 */
export function sessionIn(c: Context) {
  const sessionId = c.req.query('session') ?? ''
  return isStorableText(sessionId) ? sessionId : ''
}

/** Returns the project that the session shows. */
export const projectIn = (c: PageRequest) => c.get('apiKey').projectId

/** The project that the session shows. A customer sees no deliveries of hooks. */
export const shownTo = (c: PageRequest) => ({
  projectId: projectIn(c),
  ...(c.get('portal') && { withoutHooks: true }),
})

/** Tells whether the session has a permission for this call. */
export const can = (c: PageRequest, call: CallName) =>
  isPermitted(c.get('apiKey').permissions, call) && (isRead(call) || !c.get('portal')?.isReadOnly)

/** Returns the agent that the path names as `:agent`. */
export const agentRef = (c: PageRequest) => ({
  projectId: projectIn(c),
  agent: agentIn(c.req.param('agent')),
})

/** Names this session in the audit log. */
export const byActor = <T extends object>(c: PageRequest, input: T) => ({
  ...input,
  actor: c.get('actor'),
})

/** Returns the webhook that the path names as `:id`. */
export const webhookRef = (c: PageRequest) => ({
  projectId: projectIn(c),
  webhookId: idIn(c.req.param('id')),
})

/** Returns the recovery that the path names as `:id`. */
export const recoveryRef = (c: PageRequest) => ({
  projectId: projectIn(c),
  recoveryId: idIn(c.req.param('id')),
})

/** Returns the delivery that the path names as `:id`. */
export const deliveryRef = (c: PageRequest) => ({
  ...shownTo(c),
  deliveryId: idIn(c.req.param('id')),
})
