import type { SettingsOf } from '../values/setting.js'
import { isUuid } from '../values/input-rules.js'
import { nameSetting } from './api-key.js'

export type ProjectSettings = {
  readonly name: string
  readonly externalId?: string | undefined
}

/** Needs no escape in a path. The first character makes it no `.` and no `..`. */
const EXTERNAL_ID = /^[A-Za-z0-9][\w.~-]{0,99}$/

/** An id of the service has the form of a UUID, so that no path can mean two projects. */
export const isExternalId = (text: unknown): text is string =>
  typeof text === 'string' && EXTERNAL_ID.test(text) && !isUuid(text)

export const projectSettings = {
  name: nameSetting,
  externalId: {
    type: 'string',
    maxLength: 100,
    pattern: EXTERNAL_ID.source,
    rule: (value) =>
      isExternalId(value)
        ? undefined
        : 'must be 1 to 100 of the characters A-Z a-z 0-9 _ . ~ - with a letter or digit first, and no UUID',
    description: 'Your id of the project, for paths. It is unique and never changes.',
    examples: ['customer-42'],
  },
} as const satisfies SettingsOf<ProjectSettings>
