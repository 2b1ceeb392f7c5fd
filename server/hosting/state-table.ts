/** The next state, and what is to be done then, in this order. */
export type Step<State, Effect> = readonly [next: State, ...effects: Effect[]];

/** The members of a union that have this value at a key. */
type Of<Union, Key extends keyof Union, Value> = Union extends unknown
  ? Value extends Union[Key]
    ? Union & { readonly [At in Key]: Value }
    : never
  : never;

/** What each event does in some of the states. An event without a row changes nothing. */
export type Rows<
  In,
  State,
  Event extends { readonly type: string },
  Effect,
  Context extends readonly unknown[] = [],
> = {
  readonly [Type in Event['type']]?: (
    state: In,
    event: Of<Event, 'type', Type>,
    ...context: Context
  ) => Step<State, Effect>;
};

/** The rows of each state; the context is what a step depends on beside the state and the event. */
export type StateTable<
  State extends { readonly at: string },
  Event extends { readonly type: string },
  Effect,
  Context extends readonly unknown[] = [],
> = { readonly [At in State['at']]: Rows<Of<State, 'at', At>, State, Event, Effect, Context> };

/** Looks an event up in a table. */
export function followTable<
  State extends { readonly at: string },
  Event extends { readonly type: string },
  Effect,
  Context extends readonly unknown[],
>(
  table: StateTable<State, Event, Effect, Context>,
  state: State,
  event: Event,
  ...context: Context
): Step<State, Effect> {
  const row = table[state.at as State['at']][event.type as Event['type']] as
    | ((state: State, event: Event, ...context: Context) => Step<State, Effect>)
    | undefined;
  return row?.(state, event, ...context) ?? [state];
}

/** How each effect is done, by its name. */
type Shell<Effect extends { readonly do: string }> = {
  readonly [Do in Effect['do']]: (effect: Of<Effect, 'do', Do>) => unknown;
};

/** Something that has a state, takes events, and does what follows from them. */
export interface Machine<State, Event> {
  readonly state: () => State;
  /** Takes an event, and answers what its effects returned: it awaits nothing, as each line of a console is an event. */
  readonly dispatch: (event: Event) => readonly unknown[];
}

/** Creates a machine. An effect that may dispatch an event must be the last of its step. */
export function createMachine<State, Event, Effect extends { readonly do: string }>(
  initial: State,
  toNextState: (state: State, event: Event) => Step<State, Effect>,
  shell: Shell<Effect>,
): Machine<State, Event> {
  let current = initial;
  return {
    state: () => current,
    dispatch(event) {
      const [next, ...effects] = toNextState(current, event);
      current = next;
      return effects.map((effect) => shell[effect.do as Effect['do']](effect as never));
    },
  };
}
