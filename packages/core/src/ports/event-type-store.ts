import type { AuditEntry } from '../domain/access/audit.js'
import type { EventType, ListedEventType } from '../domain/webhooks/event-type.js'
import type { Stored } from './stored.js'

/** The types that people define: those of a project, and those of the installation. */
export interface EventTypeStore {
  /**
   * Stores a type in place of an earlier one with its name and project, whose `createdAt` stays.
   * Without a project, stores it for the installation. Returns `name_taken` if the installation has
   * the name of a project's type, and `limit_reached` for one more than `limit` types.
   */
  put(
    projectId: string | undefined,
    type: EventType,
    limit: number,
    audit?: AuditEntry,
  ): Stored<EventType | 'name_taken' | 'limit_reached' | 'project_not_found'>
  delete(projectId: string | undefined, name: string, audit?: AuditEntry): Stored<boolean>
  /**
   * Returns the types of the project and of the installation by name. The installation's counts if
   * both have a name.
   */
  list(projectId: string | undefined): Stored<readonly ListedEventType[]>
  /** Returns the types with these names, like `list`. */
  find(projectId: string | undefined, names: readonly string[]): Stored<readonly EventType[]>
}
