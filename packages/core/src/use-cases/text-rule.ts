import { isStorableText } from '../domain/json.js'
import type { Rule } from './invalid.js'

/** Non-empty, storable text of at most `max` UTF-16 units. */
export function textRule(value: unknown, max: number): Rule {
  if (typeof value !== 'string' || value === '') return 'must be a non-empty string'
  if (value.length > max) return `must have at most ${max} characters`
  return isStorableText(value) ? undefined : 'must not hold NUL or lone surrogates'
}

/** A whole number from `min` to `max`. */
export function integerRule(value: unknown, min: number, max: number): Rule {
  const fits = typeof value === 'number' && Number.isInteger(value) && value >= min && value <= max
  return fits ? undefined : `must be a whole number from ${min} to ${max}`
}
