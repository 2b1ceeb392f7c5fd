/** The next state, and the effects to run in order. */
export type Step<State, Effect> = readonly [next: State, ...effects: Effect[]];

/** The members of a union with this value at a key. */
type Of<Union, Key extends keyof Union, Value> = Union extends unknown
  ? Value extends Union[Key]
    ? Union & { readonly [At in Key]: Value }
    : never
  : never;

/** The transitions of each event. An event without a row is ignored. */
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

/** The transition table: the rows of each state. The context is the further input of a step. */
export type StateTable<
  State extends { readonly at: string },
  Event extends { readonly type: string },
  Effect,
  Context extends readonly unknown[] = [],
> = { readonly [At in State['at']]: Rows<Of<State, 'at', At>, State, Event, Effect, Context> };

/** Applies the transition of an event. */
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

/** The function that runs each effect, by name. */
type Effects<Effect extends { readonly do: string }> = {
  readonly [Do in Effect['do']]: (effect: Of<Effect, 'do', Do>) => unknown;
};

/** A state machine. */
export interface Machine<State, Event> {
  readonly state: () => State;
  /** Handles an event; returns the results of its effects. It awaits nothing, since each line of a console is an event. */
  readonly dispatch: (event: Event) => readonly unknown[];
}

/** Creates a state machine. An effect that dispatches an event synchronously must be the last of its step. */
export function createMachine<State, Event, Effect extends { readonly do: string }>(
  initial: State,
  toNextState: (state: State, event: Event) => Step<State, Effect>,
  run: Effects<Effect>,
): Machine<State, Event> {
  let current = initial;
  return {
    state: () => current,
    dispatch(event) {
      const [next, ...effects] = toNextState(current, event);
      current = next;
      return effects.map((effect) => run[effect.do as Effect['do']](effect as never));
    },
  };
}
