/// The shape of a set of numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// Every number of the field.
    All,
    /// Numbers from zero on, in steps that divide the field evenly.
    Even(u16),
    /// Three or more numbers without a gap.
    Run(u16, u16),
    /// Five or more numbers in equal steps: the first, the last and the step.
    Steps(u16, u16, u16),
    /// Any other numbers.
    List(Vec<u16>),
}

impl Form {
    /// The shape of the numbers of a field whose values
    /// run from zero up to but not including `size`.
    pub(super) fn of(values: Vec<u16>, size: u16) -> Form {
        let (Some(&first), Some(&last)) = (values.first(), values.last()) else {
            return Form::List(values);
        };
        if values.len() == usize::from(size) {
            return Form::All;
        }
        let step = values.get(1).map_or(0, |second| second - first);
        if step == 0 || !values.windows(2).all(|pair| pair[1] - pair[0] == step) {
            return Form::List(values);
        }
        // The step from the last value across the end of the field equals the other steps.
        if first == 0 && last + step == size {
            return Form::Even(step);
        }
        match (step, values.len()) {
            (1, 3..) => Form::Run(first, last),
            (2.., 5..) => Form::Steps(first, last, step),
            _ => Form::List(values),
        }
    }
}

/// The numbers of the set bits in a mask, in ascending order.
pub(super) fn values(mask: u64) -> Vec<u16> {
    (0..64).filter(|bit| mask >> bit & 1 == 1).collect()
}
