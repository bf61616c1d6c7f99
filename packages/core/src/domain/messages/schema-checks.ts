import { canonicalJson, isJsonObject, type Json, type JsonObject } from '../values/json.js'
import { valueChecks } from './schema-value-checks.js'
import {
  failure,
  type Covered,
  type SchemaCheck,
  type SchemaFailure,
  type SchemaWork,
} from './schema-work.js'

type Check = SchemaCheck<Json>
type ObjectCheck = SchemaCheck<JsonObject>
type ListCheck = SchemaCheck<Json[]>

/**
 * Returns the check of a schema that has the shape of one. Each check is a step: one keyword for
 * one value. Keywords for other types of values do nothing.
 */
export function schemaCheck(schema: Json): Check {
  if (!isJsonObject(schema))
    return () => (schema === true ? undefined : failure(() => 'No value is allowed here.'))
  const checks = [...valueChecks(schema), ...inPlaceChecks(schema)]
  const ofObjects = objectChecks(schema)
  const ofLists = listChecks(schema)
  const asksCovered =
    schema['unevaluatedItems'] !== undefined || schema['unevaluatedProperties'] !== undefined
  return (value, work, outer) => {
    work.step()
    const own = asksCovered ? new Set<string | number>() : undefined
    const covered = own ?? outer
    const failed =
      firstFailure(checks, value, work, covered) ??
      (Array.isArray(value)
        ? firstFailure(ofLists, value, work, covered)
        : isJsonObject(value)
          ? firstFailure(ofObjects, value, work, covered)
          : undefined)
    if (!failed && own) cover(outer, own, work)
    return failed
  }
}

function firstFailure<V>(
  checks: readonly SchemaCheck<V>[],
  value: V,
  work: SchemaWork,
  covered: Covered | undefined,
): SchemaFailure | undefined {
  for (const check of checks) {
    work.step()
    const failed = check(value, work, covered)
    if (failed) return failed
  }
  return undefined
}

function cover(outer: Covered | undefined, covered: Covered, work: SchemaWork): void {
  if (!outer) return
  for (const key of covered) work.cover(outer, key)
}

/** True if the value matches. Only a match covers keys. */
function matches(check: Check, value: Json, work: SchemaWork, outer: Covered | undefined): boolean {
  const covered = outer && new Set<string | number>()
  if (check(value, work, covered)) return false
  if (covered) cover(outer, covered, work)
  return true
}

/** Checks a member of a value. */
function inside(
  check: Check,
  value: Json,
  key: string | number,
  work: SchemaWork,
): SchemaFailure | undefined {
  const failed = check(value, work, undefined)
  return failed && { ...failed, at: [String(key), ...failed.at] }
}

const listOf = (schema: JsonObject, keyword: string): Check[] | undefined =>
  (schema[keyword] as Json[] | undefined)?.map(schemaCheck)

const one = (schema: JsonObject, keyword: string): Check | undefined =>
  schema[keyword] === undefined ? undefined : schemaCheck(schema[keyword])

const namedOf = (schema: JsonObject, keyword: string): (readonly [string, Check])[] =>
  Object.entries((schema[keyword] ?? {}) as JsonObject).map(
    ([name, inner]) => [name, schemaCheck(inner)] as const,
  )

function inPlaceChecks(schema: JsonObject): Check[] {
  const checks: Check[] = []
  const [not, condition] = [one(schema, 'not'), one(schema, 'if')]
  const [allOf, anyOf, oneOf] = ['allOf', 'anyOf', 'oneOf'].map((name) => listOf(schema, name))
  if (allOf) checks.push((value, work, covered) => firstFailure(allOf, value, work, covered))
  if (anyOf)
    checks.push((value, work, covered) => {
      // Without an outer `unevaluated…`, the first match is enough.
      const found = covered
        ? anyOf.filter((check) => matches(check, value, work, covered)).length > 0
        : anyOf.some((check) => matches(check, value, work, covered))
      return found ? undefined : failure(() => 'Instance does not match any subschemas.')
    })
  if (oneOf)
    checks.push((value, work, covered) => {
      const { length } = oneOf.filter((check) => matches(check, value, work, covered))
      if (length === 1) return undefined
      return failure(() => `Instance does not match exactly one subschema (${length} matches).`)
    })
  if (not)
    checks.push((value, work) =>
      matches(not, value, work, undefined)
        ? failure(() => 'Instance matched "not" schema.')
        : undefined,
    )
  if (condition) {
    const [then, otherwise] = [one(schema, 'then'), one(schema, 'else')]
    checks.push((value, work, covered) =>
      (matches(condition, value, work, covered) ? then : otherwise)?.(value, work, covered),
    )
  }
  return checks
}

const keysOf = (value: JsonObject, work: SchemaWork): readonly string[] =>
  work.once('keys', value, Object.keys)

/** Returns the first of the names that the object lacks. */
function missing(
  names: readonly string[],
  value: JsonObject,
  work: SchemaWork,
): string | undefined {
  return names.find((name) => {
    work.step()
    return !Object.hasOwn(value, name)
  })
}

function objectChecks(schema: JsonObject): ObjectCheck[] {
  const checks: ObjectCheck[] = [...requiredChecks(schema)]
  const properties = new Map(namedOf(schema, 'properties'))
  for (const [name, check] of properties)
    checks.push((value, work, covered) => {
      if (!Object.hasOwn(value, name)) return undefined
      work.cover(covered, name)
      return inside(check, value[name] as Json, name, work)
    })
  for (const [name, check] of namedOf(schema, 'dependentSchemas'))
    checks.push((value, work, covered) =>
      Object.hasOwn(value, name) ? check(value, work, covered) : undefined,
    )
  const names = one(schema, 'propertyNames')
  if (names)
    checks.push((value, work) => eachKey(value, work, (key) => inside(names, key, key, work)))
  const additional = one(schema, 'additionalProperties')
  if (additional) checks.push(ofRest(additional, (key) => properties.has(key)))
  const unevaluated = one(schema, 'unevaluatedProperties')
  if (unevaluated) checks.push(ofRest(unevaluated, (key, covered) => covered?.has(key) === true))
  return checks
}

function requiredChecks(schema: JsonObject): ObjectCheck[] {
  const required = [...new Set((schema['required'] ?? []) as string[])]
  const dependent = Object.entries((schema['dependentRequired'] ?? {}) as Record<string, string[]>)
  const checks: ObjectCheck[] = dependent.map(([name, names]) => (value, work) => {
    const lacks = Object.hasOwn(value, name) ? missing(names, value, work) : undefined
    if (lacks === undefined) return undefined
    return failure(() => `Instance has "${name}" but does not have "${lacks}".`)
  })
  if (required.length === 0) return checks
  const check: ObjectCheck = (value, work) => {
    const lacks = missing(required, value, work)
    if (lacks === undefined) return undefined
    return failure(() => `Instance does not have required property "${lacks}".`)
  }
  return [check, ...checks]
}

function eachKey(
  value: JsonObject,
  work: SchemaWork,
  check: (key: string) => SchemaFailure | undefined,
): SchemaFailure | undefined {
  for (const key of keysOf(value, work)) {
    work.step()
    const failed = check(key)
    if (failed) return failed
  }
  return undefined
}

const ofRest =
  (check: Check, isOther: (key: string, covered: Covered | undefined) => boolean): ObjectCheck =>
  (value, work, covered) =>
    eachKey(value, work, (key) => {
      if (isOther(key, covered)) return undefined
      work.cover(covered, key)
      return inside(check, value[key] as Json, key, work)
    })

function listChecks(schema: JsonObject): ListCheck[] {
  const checks: ListCheck[] = []
  const prefix = listOf(schema, 'prefixItems') ?? []
  for (const [index, check] of prefix.entries())
    checks.push((value, work, covered) => {
      if (index >= value.length) return undefined
      work.cover(covered, index)
      return inside(check, value[index] as Json, index, work)
    })
  const items = one(schema, 'items')
  if (items) checks.push(ofItems(items, (index) => index < prefix.length))
  const contains = one(schema, 'contains')
  if (contains) checks.push(containsCheck(contains, schema))
  if (schema['uniqueItems'] === true)
    checks.push((value, work) =>
      work.once('unique', value, areUnique) ? undefined : failure(() => 'Two items are equal.'),
    )
  const unevaluated = one(schema, 'unevaluatedItems')
  if (unevaluated)
    checks.push(ofItems(unevaluated, (index, covered) => covered?.has(index) === true))
  return checks

  function areUnique(value: Json[]): boolean {
    return new Set(value.map(canonicalJson)).size === value.length
  }
}

const ofItems =
  (check: Check, isOther: (index: number, covered: Covered | undefined) => boolean): ListCheck =>
  (value, work, covered) => {
    for (const [index, item] of value.entries()) {
      work.step()
      if (isOther(index, covered)) continue
      work.cover(covered, index)
      const failed = inside(check, item, index, work)
      if (failed) return failed
    }
    return undefined
  }

function containsCheck(
  check: Check,
  { minContains = 1, maxContains = Infinity }: { minContains?: Json; maxContains?: Json },
): ListCheck {
  return (value, work, covered) => {
    let found = 0
    for (const [index, item] of value.entries()) {
      if (!matches(check, item, work, undefined)) continue
      work.cover(covered, index)
      found++
    }
    if (found < Number(minContains))
      return failure(
        () => `Array must contain at least ${Number(minContains)} matching items, not ${found}.`,
      )
    if (found > Number(maxContains))
      return failure(
        () => `Array can contain at most ${Number(maxContains)} matching items, not ${found}.`,
      )
    return undefined
  }
}
