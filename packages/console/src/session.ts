import type { Sealed, SignIn } from '@org/agent-messaging-core/storage'
import type { Context } from 'hono'
import { deleteCookie, getCookie, setCookie } from 'hono/cookie'
import { errAsync, okAsync } from 'neverthrow'
import { z } from 'zod'
import type { ConsoleDeps } from './context.js'
import { BASE } from './options.js'

const NAME = 'agent_messaging_console'
const PURPOSE = 'console/session'
/** The longest session after a sign-in. */
const SESSION_MS = 12 * 3_600_000

const contents = z.object({ id: z.string(), key: z.string(), until: z.number() })
type Session = SignIn & { readonly key: string }

type Parts = Pick<ConsoleDeps, 'service' | 'crypto' | 'publicUrl'>

/**
 * Starts a session: a cookie with the API key, sealed with the master key. Every process of the
 * service can read the cookie. Each request checks the key again, so a revoked key ends its
 * sessions.
 */
export function beginSession(c: Context, { service, crypto, publicUrl }: Parts, key: string): void {
  const id = Buffer.from(crypto.randomBytes(16)).toString('base64url')
  const session: Session = { id, key, until: service.now() + SESSION_MS }
  const sealed = crypto.seal(JSON.stringify(session), PURPOSE)
  setCookie(c, NAME, Buffer.from(sealed).toString('base64url'), {
    ...cookieOptions(c, publicUrl()),
    maxAge: SESSION_MS / 1_000,
  })
}

/**
 * Ends the session in this browser by deleting the cookie, and for copies of the cookie by a record
 * in the storage.
 */
export function endSession(c: Context, d: Parts): ReturnType<Parts['service']['signIns']['end']> {
  const session = sessionIn(c, d)
  forgetSession(c, d)
  return session === undefined ? okAsync() : d.service.signIns.end(session)
}

/** Deletes the cookie of this browser only. */
export const forgetSession = (c: Context, { publicUrl }: Pick<Parts, 'publicUrl'>): void => {
  deleteCookie(c, NAME, cookieOptions(c, publicUrl()))
}

/**
 * Returns the API key of the request's session, if the session has not ended and the key is valid.
 */
export function keyOfSession(
  c: Context,
  d: Parts,
): ReturnType<Parts['service']['keys']['authenticate']> {
  const session = sessionIn(c, d)
  if (session === undefined) return errAsync({ kind: 'unauthorized' })
  return d.service.signIns
    .isOver(session)
    .andThen((isOver) =>
      isOver
        ? errAsync({ kind: 'unauthorized' as const })
        : d.service.keys.authenticate(session.key),
    )
}

function sessionIn(c: Context, { crypto }: Pick<Parts, 'crypto'>): Session | undefined {
  const sealed = Buffer.from(getCookie(c, NAME) ?? '', 'base64url').toString()
  const text = crypto.unseal(sealed as Sealed, PURPOSE)
  return text === undefined ? undefined : contents.safeParse(JSON.parse(text)).data
}

const cookieOptions = (c: Context, publicUrl = c.req.url) =>
  ({ path: BASE, httpOnly: true, sameSite: 'Lax', secure: publicUrl.startsWith('https:') }) as const
