import { MessagingError, type ApiKey, type MessagingService } from '@org/agent-messaging-core'
import { errorIn, orUndefined } from '@org/agent-messaging-core/host'
import type { Sealed, SignIn } from '@org/agent-messaging-core/storage'
import type { Context } from 'hono'
import type { CookieOptions } from 'hono/utils/cookie'
import { deleteCookie, getCookie, setCookie } from 'hono/cookie'
import { z } from 'zod'
import { type ConsoleDeps, BASE } from '../context.js'

const COOKIE = { name: 'agent_messaging_console', purpose: 'console/session' }
/** The longest session after a sign-in. */
const SESSION_MS = 12 * 3_600_000
/** A cookie has room for this many. */
const MAX_KEYS = 10

const contents = z.object({
  id: z.string(),
  until: z.number(),
  /** The keys of different projects. The pages show the project of the first one. */
  keys: z.array(z.string()),
  operatorKey: z.string().optional(),
})
type Session = SignIn & z.output<typeof contents>

type Parts = Pick<ConsoleDeps, 'service' | 'crypto' | 'publicUrl' | 'operatorKey'>

/** A key of a project, or the operator's. */
export type Credential = { readonly key: string } | { readonly operatorKey: string }

/**
 * Starts a session: a cookie with the credential, sealed with the master key. Every process of the
 * service can read the cookie. Each request checks the credentials again, so a revoked key ends
 * its sessions.
 */
export function beginSession(c: Context, d: Parts, credential: Credential) {
  const id = Buffer.from(d.crypto.randomBytes(16)).toString('base64url')
  write(
    c,
    d,
    withCredential({ id, until: d.service.host.now() + SESSION_MS, keys: [] }, credential),
  )
}

/** Adds the credential to the session, or starts one. The session ends at the same time. */
export async function addToSession(c: Context, d: Parts, credential: Credential) {
  const session = sessionIn(c, d)
  const isOver = session && (await orUndefined(d.service.host.isSignInOver(session)))
  if (session === undefined || isOver !== false) beginSession(c, d, credential)
  else write(c, d, withCredential(session, credential))
}

const withCredential = (session: Session, credential: Credential) =>
  'key' in credential
    ? { ...session, keys: [...new Set([credential.key, ...session.keys])].slice(0, MAX_KEYS) }
    : { ...session, operatorKey: credential.operatorKey }

/** Shows another project of this session. Returns false if no valid key opens the project. */
export async function switchProject(c: Context, d: Parts, projectId: string) {
  const session = sessionIn(c, d)
  const found = (await keysIn(session, d.service)).find(
    ({ apiKey }) => apiKey.projectId === projectId,
  )
  if (session && found) write(c, d, withCredential(session, found))
  return found !== undefined
}

/** Returns the valid keys of the request's session. The first one is of the shown project. */
export const keysOfSession = (c: Context, d: Parts): Promise<readonly ApiKey[]> =>
  keysIn(sessionIn(c, d), d.service).then((found) => found.map(({ apiKey }) => apiKey))

async function keysIn(session: Session | undefined, { host }: MessagingService) {
  const found = (session?.keys ?? []).map(async (key) => ({
    key,
    apiKey: await orUndefined(host.authenticate({ key })),
  }))
  return (await Promise.all(found)).flatMap(({ key, apiKey }) => (apiKey ? [{ key, apiKey }] : []))
}

/**
 * Ends the session in this browser by deleting the cookie, and for copies of the cookie by a record
 * in the storage.
 */
export async function endSession(c: Context, d: Parts) {
  const session = sessionIn(c, d)
  forgetSession(c, d)
  if (session) await d.service.host.endSignIn(session)
}

/** Deletes the cookie of this browser only. */
export const forgetSession = (c: Context, { publicUrl }: Pick<Parts, 'publicUrl'>) => {
  deleteCookie(c, COOKIE.name, cookieOptions(c, publicUrl()))
}

/** Who is signed in: a key of a project, the operator, or both. */
export type SignedIn = { readonly apiKey?: ApiKey; readonly isOperator: boolean }

/** Returns the credentials of the request's session, if it has not ended and one is valid. */
export async function signedIn(c: Context, d: Parts): Promise<SignedIn> {
  const session = sessionIn(c, d)
  if (session === undefined || (await d.service.host.isSignInOver(session)))
    throw new MessagingError({ kind: 'unauthorized' })
  const isOperator = isOperatorKey(d, session.operatorKey)
  const [key] = session.keys
  if (key === undefined) {
    if (isOperator) return { isOperator }
    throw new MessagingError({ kind: 'unauthorized' })
  }
  return { apiKey: await d.service.host.authenticate({ key }), isOperator }
}

/** Returns the name of a project, or its id if the storage is unavailable. */
export const projectNameOf = async ({ service }: Pick<Parts, 'service'>, projectId: string) =>
  (await orUndefined(service.projects.get({ projectId })))?.name ?? projectId

export const isOperatorKey = (
  { crypto, operatorKey }: Pick<Parts, 'crypto' | 'operatorKey'>,
  text: string | undefined,
) => !!operatorKey && text !== undefined && crypto.equal(text, operatorKey)

/** A cookie that only this service can read and make. */
type SealedCookie = { readonly name: string; readonly purpose: string }

/** Returns the text of a cookie, if this service has sealed the cookie. */
export function readSealed(c: Context, { crypto }: Pick<Parts, 'crypto'>, cookie: SealedCookie) {
  const sealed = Buffer.from(getCookie(c, cookie.name) ?? '', 'base64url').toString()
  return crypto.unseal(sealed as Sealed, cookie.purpose)
}

type Sealing = { readonly text: string; readonly until: number; readonly options: CookieOptions }

export function writeSealed(
  c: Context,
  { service, crypto }: Parts,
  { name, purpose }: SealedCookie,
  { text, until, options }: Sealing,
) {
  const value = Buffer.from(crypto.seal(text, purpose)).toString('base64url')
  const maxAge = Math.max(1, Math.floor((until - service.host.now()) / 1_000))
  setCookie(c, name, value, { ...options, maxAge })
}

function sessionIn(c: Context, d: Pick<Parts, 'crypto'>) {
  const text = readSealed(c, d, COOKIE)
  return text === undefined ? undefined : contents.safeParse(JSON.parse(text)).data
}

function write(c: Context, d: Parts, session: Session) {
  const options = cookieOptions(c, d.publicUrl())
  writeSealed(c, d, COOKIE, { text: JSON.stringify(session), until: session.until, options })
}

const cookieOptions = (c: Context, publicUrl = c.req.url) =>
  ({ path: BASE, httpOnly: true, sameSite: 'Lax', secure: publicUrl.startsWith('https:') }) as const

/** Undefined for a session that has ended. */
export const unlessOver = <T>(found: Promise<T>): Promise<T | undefined> =>
  found.catch((thrown): undefined => {
    if (errorIn(thrown).kind === 'unavailable') throw thrown
  })
