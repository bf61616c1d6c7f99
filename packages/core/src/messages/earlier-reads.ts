import { err, ok, ResultAsync, type Result } from 'neverthrow'
import type { Agent } from '../domain/agents/agent.js'
import { isMistyped, NO_PROJECT, type ApiKey } from '../domain/access/api-key.js'
import { isExternalId } from '../domain/access/project.js'
import { fail } from '../domain/values/fail.js'
import { Recent } from '../domain/values/recent.js'
import type { Access } from '../domain/access/access.js'
import type { Platform } from '../platform.js'
import type { ReadEarlier } from '../ports/message-store.js'
import type { AcceptStores } from '../ports/storage.js'
import type { Unavailable } from '../ports/stored.js'
import { isUuid, type Invalid } from '../domain/values/input-rules.js'
import { findProject } from '../webhooks/require-project.js'
import { readSessionToken } from './session-token.js'

/** Keys, and agents by project and id or name. */
const MOST_KEPT = 1_000

/** Refusals that do not depend on the version of the agent. */
const OF_ANY_VERSION: ReadonlySet<string> = new Set([
  'unavailable',
  'unauthorized',
  'session_full',
  'rate_limited',
  'idempotency_mismatch',
])

export type SendingKey = {
  readonly id: string
  /** `host.recall` returned the key. The send fails if the key is revoked. */
  readonly isRecalled: boolean
}

export type KeyText = {
  readonly key: string
  /**
   * The project on which a platform key acts: its id or external id. `null` for a call about no
   * project. Absent: the key must be of a project.
   */
  readonly project?: string | null | undefined
}
export type AuthenticateError =
  | Unavailable
  | {
      readonly kind:
        | 'unauthorized'
        | 'platform_key_required'
        | 'project_required'
        | 'project_not_found'
    }
/** The caller of a session token. */
export type TokenUser = { readonly projectId: string; readonly access: Access }
type AgentRef = { readonly projectId: string; readonly agent: string }
type ReadAgentError = Unavailable | Invalid | { readonly kind: 'agent_not_found' }

/**
 * Lets a send commit without a read before it. The send takes the key and the agent as earlier
 * requests of this process read them, and its commit checks both (`NewMessage.readEarlier`).
 */
export class EarlierReads {
  readonly #platform: Pick<Platform, 'storage' | 'crypto' | 'clock' | 'policy'>
  readonly #keys = new Recent<{ readonly apiKey: ApiKey; readonly readAt: number }>(MOST_KEPT)
  readonly #agents = new Recent<Agent>(MOST_KEPT)
  /** The ids of projects by the names that paths have for them. They never change. */
  readonly #projects = new Recent<string>(MOST_KEPT)

  constructor(platform: Pick<Platform, 'storage' | 'crypto' | 'clock' | 'policy'>) {
    this.#platform = platform
  }

  /**
   * Returns the key's project and permissions. Unknown, mistyped, revoked and expired keys get the
   * same error.
   */
  authenticate = (input: KeyText): ResultAsync<ApiKey, AuthenticateError> =>
    new ResultAsync(this.#authenticated(input))

  /**
   * Returns a key that was valid when a call of `authenticate` saw it last, without a look at the
   * storage. Another process can have revoked it. Give its id to `messages.send`, which checks that
   * in the commit, and authenticate before you answer anything else.
   */
  recall = ({ key, project }: KeyText): ApiKey | undefined => {
    const { crypto } = this.#platform
    const apiKey = this.#keys.get(crypto.sha256(key))?.apiKey
    if (!apiKey || !this.#isValid(apiKey)) return undefined
    if (project === undefined) return isOfPlatform(apiKey) ? undefined : apiKey
    const projectId = project === null ? undefined : this.#projects.get(project)
    return projectId !== undefined && isOfPlatform(apiKey) ? { ...apiKey, projectId } : undefined
  }

  /**
   * Returns the project and the access of a session token. The key that made the token must be
   * valid, as it was at most `keyCheckMs` ago. Forged and expired tokens get the same error.
   */
  authenticateToken = ({
    token,
  }: {
    readonly token: string
  }): ResultAsync<TokenUser, AuthenticateError> => new ResultAsync(this.#userOf(token))

  /**
   * Calls `store` with the agent as an earlier send read it. If there is none, or another version
   * of the agent can make another result, reads the agent and calls `store` again.
   */
  async accept<T, E extends { readonly kind: string }>(
    { projectId, agent: name, sentBy }: AgentRef & { readonly sentBy?: SendingKey | undefined },
    store: (agent: Agent, readEarlier: ReadEarlier) => Promise<Result<T, E>>,
  ): Promise<Result<T, E | ReadAgentError>> {
    const apiKeyId = sentBy?.isRecalled ? sentBy.id : undefined
    const ref = `${projectId} ${name}`
    const earlier = this.#agents.get(ref)
    if (earlier) {
      const stored = await store(earlier, { apiKeyId, agentUpdatedAt: earlier.updatedAt })
      if (stored.isOk() || OF_ANY_VERSION.has(stored.error.kind)) return stored
    }
    const read = await readAgent(this.#platform.storage, { projectId, agent: name })
    if (read.isErr() || read.value.state.kind !== 'running') this.#agents.delete(ref)
    else this.#agents.set(ref, read.value)
    if (read.isErr()) return err(read.error)
    const agent = read.value
    return store(agent, { apiKeyId, agentUpdatedAt: undefined })
  }

  async #authenticated({ key, project }: KeyText): Promise<Result<ApiKey, AuthenticateError>> {
    if (isMistyped(key)) return fail('unauthorized')
    const read = await this.#read(this.#platform.crypto.sha256(key))
    if (read.isErr()) return read
    if (!isOfPlatform(read.value))
      return project === undefined ? read : fail('platform_key_required')
    if (project === undefined) return fail('project_required')
    return project === null ? read : this.#inProject(read.value, project)
  }

  async #inProject(apiKey: ApiKey, project: string): Promise<Result<ApiKey, AuthenticateError>> {
    const known = this.#projects.get(project)
    if (known !== undefined) return ok({ ...apiKey, projectId: known })
    if (!isUuid(project) && !isExternalId(project)) return fail('project_not_found')
    const found = await findProject(this.#platform, project)
    if (!found.ok) return err(found.error)
    if (!found.value) return fail('project_not_found')
    const { id: projectId } = found.value
    this.#projects.set(project, projectId)
    return ok({ ...apiKey, projectId })
  }

  async #userOf(token: string): Promise<Result<TokenUser, AuthenticateError>> {
    const { clock, policy } = this.#platform
    const claims = readSessionToken(this.#platform, token)
    if (!claims) return fail('unauthorized')
    const { projectId, access, keyDigest } = claims
    const known = keyDigest === undefined ? undefined : this.#keys.get(keyDigest)
    const isFresh =
      known !== undefined &&
      this.#isValid(known.apiKey) &&
      clock.elapsed() - known.readAt < policy.stream.keyCheckMs
    if (keyDigest === undefined || isFresh) return ok({ projectId, access })
    const read = await this.#read(keyDigest)
    return read.isOk() ? ok({ projectId, access }) : err(read.error)
  }

  async #read(digest: string): Promise<Result<ApiKey, AuthenticateError>> {
    const { storage, clock } = this.#platform
    const found = await storage.credentials.findByDigest(digest)
    if (!found.ok) return err(found.error)
    const apiKey = found.value
    if (apiKey && this.#isValid(apiKey)) {
      this.#keys.set(digest, { apiKey, readAt: clock.elapsed() })
      return ok(apiKey)
    }
    this.#keys.delete(digest)
    return fail('unauthorized')
  }

  #isValid({ revokedAt, expiresAt = Infinity }: ApiKey): boolean {
    return revokedAt === undefined && expiresAt > this.#platform.clock.now()
  }
}

const isOfPlatform = ({ projectId }: ApiKey): boolean => projectId === NO_PROJECT

export async function readAgent(
  { agents }: Pick<AcceptStores, 'agents'>,
  { projectId, agent }: AgentRef,
): Promise<Result<Agent, ReadAgentError>> {
  const found = await agents.get(projectId, agent)
  if (!found.ok) return err(found.error)
  return found.value ? ok(found.value) : fail('agent_not_found')
}
