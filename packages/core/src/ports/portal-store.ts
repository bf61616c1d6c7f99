import type { AuditEntry } from '../domain/access/audit.js'
import type { Instant } from '../domain/values/instant.js'
import type { PortalSession } from '../domain/access/portal.js'
import type { Stored } from './stored.js'

/** The sessions of customers. The store knows the code of a link only by its SHA-256 digest. */
export interface PortalStore {
  /**
   * Creates a session, and deletes all sessions whose time has passed. A repeated call changes
   * nothing. Returns `limit_reached` if the project still has `limit` sessions.
   */
  create(
    session: PortalSession,
    digest: string,
    limit: number,
    audit?: AuditEntry,
  ): Stored<'created' | 'project_not_found' | 'limit_reached'>
  /** Opens the session of a link, once, if `canOpen` says so. */
  open(digest: string, now: Instant): Stored<PortalSession | undefined>
  /** Returns the session of a link, and leaves the link as it is. */
  findByDigest(digest: string): Stored<PortalSession | undefined>
  find(id: string): Stored<PortalSession | undefined>
  /** Ends a session, opened or not. A second call changes nothing. */
  end(
    projectId: string,
    id: string,
    now: Instant,
    audit?: AuditEntry,
  ): Stored<'ended' | 'already_ended' | undefined>
}
