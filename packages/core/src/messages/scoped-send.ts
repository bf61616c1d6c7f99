import { ok, type Result } from 'neverthrow'
import {
  isScoped,
  ownPrincipal,
  seesSession,
  type AccessRestricted,
} from '../domain/access/access.js'
import { fail } from '../domain/values/fail.js'
import type { Platform } from '../platform.js'
import type { SendInput } from './draft-message.js'

type SendRefusal = AccessRestricted | { readonly kind: 'session_not_found' }

/**
 * Returns the send as the caller can make it. Keys of two sessions never meet, because the stored
 * key of a scoped caller names the session too.
 */
export function sendOf(
  { crypto }: Pick<Platform, 'crypto'>,
  send: SendInput,
): Result<SendInput, SendRefusal> {
  const { access, sessionId, idempotencyKey: key } = send
  if (!access) return ok(send)
  if (!seesSession(access, sessionId)) return fail('session_not_found')
  if (isScoped(access) && (send.hook || send.webhook)) return fail('access_restricted')
  return ownPrincipal(access, send.executionPrincipal).map((executionPrincipal) => ({
    ...send,
    executionPrincipal,
    ...(isScoped(access) &&
      key !== undefined && { idempotencyKey: crypto.sha256(JSON.stringify([sessionId, key])) }),
  }))
}
