import { errAsync, ok, safeTry, type ResultAsync } from 'neverthrow'
import { auditEntry, type ByActor } from '../domain/access/audit.js'
import { fail } from '../domain/values/fail.js'
import { broken, required, type Invalid } from '../domain/values/input-rules.js'
import {
  canOpen,
  isOpen,
  portalSettings,
  type PortalSession,
  type PortalSettings,
} from '../domain/access/portal.js'
import { rulesOf } from '../domain/values/setting.js'
import { isCode, newCode } from '../messages/input-link.js'
import type { Changing, Platform } from '../platform.js'
import type { Stored, Unavailable } from '../ports/stored.js'
import { chain, existing } from '../pacing/chain.js'

const SECOND = 1_000
/** A link must be opened within this time. */
const LINK_MS = 15 * 60 * SECOND

export type CreatePortalInput = PortalSettings & ByActor & { readonly projectId: string }
/** The code opens the session once. No store has the code. */
export type CreatedPortal = { readonly session: PortalSession; readonly code: string }
export type CreatePortalError =
  | Invalid
  | Unavailable
  | { readonly kind: 'project_not_found' | 'too_many_portals' }

export const createPortal =
  (d: Changing & Pick<Platform, 'crypto' | 'policy'>) => (input: CreatePortalInput) =>
    safeTry(async function* () {
      const {
        projectId,
        permissions = ['project:webhooks'],
        readOnly: isReadOnly = false,
        title,
        returnUrl,
        actor,
      } = input
      const { lifetimeSeconds = 3_600 } = input
      const problem = broken(required({ projectId })) ?? broken(portalRules(input))
      if (problem) return problem
      const now = d.clock.now()
      const until = now + lifetimeSeconds * SECOND
      const session: PortalSession = {
        ...{ id: d.ids.next(), projectId, permissions: [...new Set(permissions)], isReadOnly },
        ...(title !== undefined && { title }),
        ...(returnUrl !== undefined && { returnUrl }),
        ...{ createdAt: now, linkUntil: Math.min(now + LINK_MS, until), until },
      }
      const code = newCode(d.crypto.randomBytes)
      const created = yield* chain(
        d.storage.portals.create(
          session,
          d.crypto.sha256(code),
          d.policy.limits.portalsPerProject,
          auditEntry(d, { projectId, action: 'portal.created', targetId: session.id, actor }),
        ),
      )
      if (created === 'limit_reached') return fail('too_many_portals')
      return created === 'project_not_found' ? fail(created) : ok({ session, code })
    })

/** The link of a code, and whether the link can still open its session. */
export type PortalLink = { readonly session: PortalSession; readonly isUsable: boolean }

type CodeReading = Pick<Platform, 'byCode' | 'clock' | 'crypto' | 'storage'>

type PortalCode = { readonly code: string }

export const findPortalLink =
  (d: CodeReading) =>
  ({ code }: PortalCode) =>
    byCode(d, code, (digest) => d.storage.portals.findByDigest(digest)).map((session) => ({
      session,
      isUsable: canOpen(session, d.clock.now()),
    }))

export const openPortal =
  (d: CodeReading) =>
  ({ code }: PortalCode) =>
    byCode(d, code, (digest) => d.storage.portals.open(digest, d.clock.now()))

/** Calls the storage in turn, if the code can be one of ours. */
const byCode = (
  d: Pick<Platform, 'byCode' | 'crypto'>,
  code: string,
  find: (digest: string) => Stored<PortalSession | undefined>,
): ResultAsync<PortalSession, Unavailable | { readonly kind: 'portal_not_found' }> =>
  isCode(code)
    ? d.byCode(() => existing(find(d.crypto.sha256(code)), 'portal_not_found'))
    : errAsync({ kind: 'portal_not_found' })

export const findOpenPortal =
  (d: Pick<Platform, 'clock' | 'storage'>) =>
  ({ portalId }: { readonly portalId: string }) =>
    chain(d.storage.portals.find(portalId)).andThen((found) =>
      found && isOpen(found, d.clock.now()) ? ok(found) : fail('portal_not_found'),
    )

export type PortalRef = { readonly projectId: string; readonly portalId: string }

export const endPortal =
  (d: Changing) =>
  ({ projectId, portalId, actor }: PortalRef & ByActor) => {
    const audit = auditEntry(d, { projectId, action: 'portal.ended', targetId: portalId, actor })
    return chain(d.storage.portals.end(projectId, portalId, d.clock.now(), audit)).andThen((done) =>
      done ? ok(undefined) : fail('portal_not_found'),
    )
  }

const portalRules = (input: CreatePortalInput) => ({
  ...rulesOf(portalSettings, input),
  returnUrl:
    input.returnUrl === undefined || isWebUrl(input.returnUrl) ? undefined : RETURN_URL_RULE,
})

const { maxLength } = portalSettings.returnUrl
const RETURN_URL_RULE = `must be an http or https URL with at most ${maxLength} characters`

const isWebUrl = (text: unknown): boolean =>
  typeof text === 'string' &&
  text.length <= maxLength &&
  URL.canParse(text) &&
  ['http:', 'https:'].includes(new URL(text).protocol)
