import type { MessageRow } from '@org/agent-messaging-core/storage'
import {
  messageById as messageByIdOf,
  selectMessage as messageSelect,
} from '@org/agent-messaging-sql-kit'
import { dialect } from '../database/operations.js'
import { sql } from '../database/sql.js'

/** Append a `where`. */
export const selectMessage = messageSelect(dialect)

export const messageById = sql<{ readonly messageId: string }, MessageRow>(messageByIdOf(dialect))
