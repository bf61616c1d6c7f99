/** Leaves out the fields that are undefined. */
export const given = <T extends object>(
  fields: T,
): { readonly [K in keyof T]?: Exclude<T[K], undefined> } =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as {
    readonly [K in keyof T]?: Exclude<T[K], undefined>
  }

/** Leaves out the fields that are undefined or null. */
export const filled = <T extends object>(
  fields: T,
): { readonly [K in keyof T]?: NonNullable<T[K]> } =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value != null)) as {
    readonly [K in keyof T]?: NonNullable<T[K]>
  }
