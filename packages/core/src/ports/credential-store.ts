import type { ApiKey } from '../domain/api-key.js'
import type { Instant } from '../domain/instant.js'
import type { Page, PageOf, Stored } from './stored.js'

export type Project = { readonly id: string; readonly name: string; readonly createdAt: Instant }

/** A person's visit to the operator's pages, begun with an API key. `until`: when it ends by itself. */
export type SignIn = { readonly id: string; readonly until: Instant }

/** Projects and API keys; a key is known by its digest (SHA-256, hex) only. */
export interface CredentialStore {
  createProject(project: Project): Stored<void>
  getProject(id: string): Stored<Project | undefined>
  /** Oldest first. */
  listProjects(page: PageOf): Stored<Page<Project>>
  /**
   * `digest_taken`: a key with this digest exists already, in whatever project. `limit_reached` when the project has `limit` keys already
   * that are neither revoked nor, when this one is created, expired.
   */
  createKey(
    key: ApiKey,
    digest: string,
    limit: number,
  ): Stored<'created' | 'digest_taken' | 'project_not_found' | 'limit_reached'>
  /** Finds revoked and expired keys too: the use case refuses them in the same words as unknown ones. */
  findByDigest(digest: string): Stored<ApiKey | undefined>
  /** Newest first. */
  listKeys(projectId: string, page: PageOf): Stored<Page<ApiKey>>
  revokeKey(projectId: string, id: string, now: Instant): Stored<boolean>
  /** Ends it before its time: known to every process, and kept until it would have ended by itself. */
  endSignIn(signIn: SignIn, now: Instant): Stored<void>
  /** Whether it was ended before its time. */
  isSignInEnded(id: string): Stored<boolean>
  /** Something that the service keeps about itself, such as the canary that tells a wrong master key. */
  readSetting(name: string): Stored<string | undefined>
  /** Sets it only if it has no value yet; answers the value that holds. */
  initSetting(name: string, value: string): Stored<string>
  /** Compare and set; gives whether it was `from`. */
  replaceSetting(name: string, from: string, to: string): Stored<boolean>
}
