import type { ApiKey } from '../domain/access/api-key.js'
import type { AuditEntry } from '../domain/access/audit.js'
import type { Instant } from '../domain/values/instant.js'
import type { SendLimits } from '../domain/access/send-limit.js'
import type { Page, PageOf, Stored } from './stored.js'

/** `sendLimits` replace the limits of the operator. Absent: the project has no own ones. */
export type Project = {
  readonly id: string
  readonly name: string
  /** The id that the platform has for the project. It never changes, and is no UUID. */
  readonly externalId?: string
  readonly createdAt: Instant
  readonly sendLimits?: SendLimits
}
export type ProjectChange = { readonly sendLimits: SendLimits }

/** A person's visit to the console, begun with an API key. The visit ends at `until`. */
/** Begins the name of a setting that has the end of a visit which ended early. */
export const ENDED_SIGN_IN = 'ended-sign-in/'

export type SignIn = { readonly id: string; readonly until: Instant }

/** Projects and API keys. The store knows a key only by its digest (SHA-256, hex). */
export interface CredentialStore {
  /**
   * Creates a project. A repeated call changes nothing. Returns the project that has the external
   * id already.
   */
  createProject(
    project: Project,
    audit?: AuditEntry,
  ): Stored<'created' | { readonly kind: 'external_id_taken'; readonly project: Project }>
  /** Replaces the limits. Empty limits are removed. Returns the project as it is then. */
  updateProject(id: string, change: ProjectChange, audit?: AuditEntry): Stored<Project | undefined>
  getProject(id: string): Stored<Project | undefined>
  /** Returns the project with this external id. */
  findProject(externalId: string): Stored<Project | undefined>
  /** Lists projects, oldest first. */
  listProjects(page: PageOf): Stored<Page<Project>>
  /**
   * Creates a key of a project, or of `NO_PROJECT`. Returns `digest_taken` if any project has a key with this digest, and
   * `limit_reached` if the project has `limit` keys that are neither revoked nor expired.
   */
  createKey(
    key: ApiKey,
    digest: string,
    limit: number,
    audit?: AuditEntry,
  ): Stored<'created' | 'digest_taken' | 'project_not_found' | 'limit_reached'>
  /**
   * Finds a key by its digest, also a revoked or expired one: the use case refuses all of them
   * with one error.
   */
  findByDigest(digest: string): Stored<ApiKey | undefined>
  /** Lists keys, newest first. */
  listKeys(projectId: string, page: PageOf): Stored<Page<ApiKey>>
  /** Revokes a key. A second revocation changes nothing. */
  revokeKey(
    projectId: string,
    id: string,
    now: Instant,
    audit?: AuditEntry,
  ): Stored<'revoked' | 'already_revoked' | undefined>
  /**
   * Ends a visit early. Puts its end into the setting `ENDED_SIGN_IN` with the id behind, and deletes
   * the settings of visits whose time has passed.
   */
  endSignIn(signIn: SignIn, now: Instant): Stored<void>
  /**
   * Reads a value that the service keeps about the database, such as the check of the master key.
   */
  readSetting(name: string): Stored<string | undefined>
  /**
   * Replaces the value if it is `from`. `undefined` stands for a setting without a value. Returns
   * true if the value was replaced.
   */
  replaceSetting(name: string, from: string | undefined, to: string): Stored<boolean>
}
