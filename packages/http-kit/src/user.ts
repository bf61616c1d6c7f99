import type { Access, Actor } from '@org/agent-messaging-core'
import { actorOf } from '@org/agent-messaging-core/host'
import type { Requester } from './requester.js'

type UserOptions = {
  readonly projectId: string
  readonly access: Access
  /** Returns what the user can do now. Undefined: nothing. */
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

  /** Also true if the user can do anything else than before. The caller can ask again. */
  async isRevoked(): Promise<boolean> {
    const { again, now } = this.#options
    this.#askedAt = now()
    const access = await again()
    this.#isOver ||= JSON.stringify(access) !== JSON.stringify(this.access)
    return this.#isOver
  }

  hasEnded(): boolean {
    const { checkMs, now } = this.#options
    if (!this.#isOver && now() - this.#askedAt >= checkMs)
      void this.isRevoked().catch(() => undefined)
    return this.#isOver
  }
}
