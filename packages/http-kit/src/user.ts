import type { Access, Actor } from '@org/agent-messaging-core'
import { actorOf, errorIn, keepsAccess } from '@org/agent-messaging-core/host'
import type { HttpError } from './errors.js'
import type { Requester } from './requester.js'

type UserOptions = {
  readonly projectId: string
  readonly access: Access
  /** Returns what the user can do now. Undefined: nothing. Rejects if the login does not say. */
  readonly again: () => Promise<Access | undefined>
  /** How often a wait asks again. */
  readonly checkMs: number
  readonly now: () => number
}

/** A caller without an API key: a user of the host, or the holder of a session token. */
export class User implements Requester {
  readonly projectId: string
  readonly access: Access
  readonly permissions: Access['permissions']
  readonly actor: Actor
  readonly sentBy = undefined
  readonly since: number
  readonly #options: UserOptions
  #askedAt: number
  #isOver = false

  constructor(options: UserOptions) {
    const { projectId, access, now } = options
    this.projectId = projectId
    this.access = access
    this.permissions = access.permissions
    this.actor = actorOf(access)
    this.#options = options
    this.since = now()
    this.#askedAt = this.since
  }

  async confirm(): Promise<undefined> {}

  learn(): void {}

  /** Refuses a user who can do less than before. The caller can ask again. */
  async recheck(): Promise<HttpError | undefined> {
    const { again, now } = this.#options
    this.#askedAt = now()
    const access = await again().catch(errorIn)
    if (access && 'kind' in access) return access
    this.#isOver ||= access === undefined || !keepsAccess(this.access, access)
    return this.#isOver ? { kind: 'unauthorized' } : undefined
  }

  hasEnded(): boolean {
    const { checkMs, now } = this.#options
    if (!this.#isOver && now() - this.#askedAt >= checkMs)
      void this.recheck().catch(() => undefined)
    return this.#isOver
  }
}
