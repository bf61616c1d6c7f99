import type { FilterCondition } from '@org/agent-messaging-core/host'
import { parseJsonText } from '@org/agent-messaging-core/runtime'

const TEST = /^(\S+)\s+(exists|missing)$/
const PREFIX = /^([^\s={][^\s=]*)\s+starts with\s+(.+)$/
const RANGE = /^([^\s={][^\s=]*)(?:\s+from\s+(\S+))?(?:\s+to\s+(\S+))?$/

/**
 * Reads `path = value`, `path exists`, `path missing`, `path starts with text`, `path from number
 * to number` or the JSON of a condition. The service refuses a condition without a test.
 */
function conditionIn(line: string) {
  if (line.startsWith('{')) return jsonIn(line, { path: line }) as object
  const [, tested, test] = TEST.exec(line) ?? []
  if (tested !== undefined) return { path: tested, exists: test === 'exists' }
  const [, begun, text = ''] = PREFIX.exec(line) ?? []
  if (begun !== undefined) return { path: begun, prefix: textIn(text) }
  const [, ranged, min, max] = RANGE.exec(line) ?? []
  if (ranged !== undefined)
    return {
      path: ranged,
      ...(min !== undefined && { min: jsonIn(min, min) }),
      ...(max !== undefined && { max: jsonIn(max, max) }),
    }
  const [name = '', ...value] = line.split('=')
  if (value.length === 0) return { path: name }
  const equal = value.join('=').trim()
  return { path: name.trim(), equals: jsonIn(equal, equal) }
}

/** Returns the conditions of a form, one per line. */
export const conditionsIn = (text: string): FilterCondition[] =>
  text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '')
    .map((line) => conditionIn(line) as FilterCondition)

function jsonIn(text: string, otherwise: unknown): unknown {
  try {
    return parseJsonText(text)
  } catch {
    return otherwise
  }
}

/** A text does not need quotation marks. */
function textIn(text: string) {
  const value = jsonIn(text, text)
  return typeof value === 'string' ? value : text
}
